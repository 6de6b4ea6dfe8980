"""Measure recall@10 of facts and turns over an invented long dialogue of 220 questions.

The constants were chosen on the even groups of `evidence.txt`; the odd ones are unseen. "Before" are the constants that
all pools shared.
"""

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from uuid import UUID

from benchmarks.bench_recall import set_up
from benchmarks.dialogue import EVIDENCE

GROUP = 5
Rank = Callable[[str], Mapping[int, float]]


def read_groups() -> list[list[tuple[str, str, str, str]]]:
    """Return groups of (asked before, answer, fact, question); a fact may be empty."""
    blocks = Path(__file__).with_name("evidence.txt").read_text(encoding="utf-8").split("\n\n")
    groups = [
        [
            (p, a, f, q)
            for p, a, f, q in (map(str.strip, line.split("|")) for line in block.splitlines() if line[0] != "#")
        ]
        for block in blocks
    ]
    rest = [(before, answer, "", question) for before, answer, _, question in EVIDENCE]
    return [*groups, *(rest[at : at + GROUP] for at in range(0, len(rest), GROUP))]


def report(name: str, rank: Rank, questions: list[tuple[str, int, int]]) -> None:
    """Print recall@10 of both halves."""
    shares = []
    for half in (0, 1):
        asked = [(question, answer) for question, answer, group in questions if group % 2 == half]
        found = 0
        for question, answer in asked:
            scores = rank(question)
            found += answer in sorted(scores, key=lambda at: (-scores[at], at))[:10]
        shares.append(100 * found / len(asked))
    print(f"{name:<16} tuned {shares[0]:5.1f}   unseen {shares[1]:5.1f}")


def main() -> None:
    """Compare the constants of each pool with the shared ones."""
    with tempfile.TemporaryDirectory() as folder:
        set_up(folder)
        from chat.conversations import search as turns_search  # noqa: PLC0415
        from config.lib.llm.vectors import STATIC, compute_cosines  # noqa: PLC0415
        from config.lib.owned import owned  # noqa: PLC0415
        from config.lib.search import terms  # noqa: PLC0415
        from memory.recall import search as facts_search  # noqa: PLC0415

        groups = read_groups()
        facts = [(fact, question, at) for at, group in enumerate(groups) for *_, fact, question in group if fact]
        texts = [fact for fact, _, _ in facts]
        indexed = {at: terms.build_index_text(text, 1) for at, text in enumerate(texts)}

        def rank_facts(query: str, weights: terms.Weights, least: float) -> Mapping[int, float]:
            wanted = terms.build_tokens(terms.list_query_terms(query), 1)
            words = terms.score_bm25(indexed, wanted, total=len(indexed), weights=weights)
            near = dict(enumerate(compute_cosines(query, texts, model=STATIC) or []))
            similar = {at for at, cosine in near.items() if cosine >= least}
            return terms.blend_scores(words, near, only=words.keys() | similar, weights=weights)

        asked = [(question, at, group) for at, (_, question, group) in enumerate(facts)]
        report("facts, before", lambda query: rank_facts(query, terms.USUAL, 0.2), asked)
        report("facts", lambda query: rank_facts(query, facts_search.QUESTION, facts_search.QUESTION_COSINE), asked)

        said, asked = {}, []
        for number, group in enumerate(groups):
            for before, answer, _, question in group:
                for is_own, text in enumerate((before, answer)):
                    turn = turns_search.Turn(UUID(int=number + 1), len(said) + 1)
                    said[turn] = turns_search.Said(text, terms.build_index_text(text, 1), bool(is_own))
                asked.append((question, len(said), number))

        def rank_turns(query: str) -> Mapping[int, float]:
            with owned(1):
                ranks = turns_search.rank_turns(query, said, by_title={}, total=len(said), frequencies={})
            return {turn.pk: rank for turn, rank in ranks.items()}

        speaker, turns_search.SPEAKER = turns_search.SPEAKER, 0.0
        report("turns, any voice", rank_turns, asked)
        turns_search.SPEAKER = speaker
        report("turns", rank_turns, asked)


if __name__ == "__main__":
    main()
