"""Is the answer among the first ten facts, or turns, by an invented long dialogue of 220 questions?

The constants of the rankings were chosen on the even groups of `evidence.txt`; the goals are of the odd ones, which
are unseen.
"""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from uuid import UUID

from benchmarks import site  # noqa: F401 - sets Django up
from benchmarks.dialogue import EVIDENCE
from benchmarks.report import Report, benchmark
from chat.conversations import search as turns_search
from config.lib.llm.vectors import STATIC, compute_cosines
from config.lib.owned import owned
from config.lib.search import terms
from memory.recall import search as facts_search

GROUP = 5
Rank = Callable[[str], Mapping[int, float]]
Groups = list[list[tuple[str, str, str, str]]]
Asked = list[tuple[str, int, int]]  # question, the number of its answer, the number of its group


def read_groups() -> Groups:
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


def find_share(name: str, rank: Rank, questions: Asked) -> float:
    """Print recall@10 of both halves in percent; return that of the unseen one."""
    shares = []
    for half in (0, 1):
        asked = [(question, answer) for question, answer, group in questions if group % 2 == half]
        tops = [(rank(question), answer) for question, answer in asked]
        found = sum(answer in sorted(scores, key=lambda at: (-scores[at], at))[:10] for scores, answer in tops)
        shares.append(100 * found / len(asked))
    print(f"{name:<20} tuned {shares[0]:5.1f}   unseen {shares[1]:5.1f}")
    return shares[1]


def measure_facts(groups: Groups) -> float:
    facts = [(fact, question, at) for at, group in enumerate(groups) for *_, fact, question in group if fact]
    texts = [fact for fact, _, _ in facts]
    indexed = {at: terms.build_index_text(text, 1) for at, text in enumerate(texts)}

    def rank(query: str, weights: terms.Weights, least: float) -> Mapping[int, float]:
        wanted = terms.build_tokens(terms.list_query_terms(query), 1)
        words = terms.score_bm25(indexed, wanted, total=len(indexed), weights=weights)
        near = dict(enumerate(compute_cosines(query, texts, model=STATIC) or []))
        similar = {at for at, cosine in near.items() if cosine >= least}
        return terms.blend_scores(words, near, only=words.keys() | similar, weights=weights)

    asked = [(question, at, group) for at, (_, question, group) in enumerate(facts)]
    find_share("facts, usual weights", lambda query: rank(query, terms.USUAL, 0.2), asked)
    return find_share("facts", lambda query: rank(query, facts_search.QUESTION, facts_search.QUESTION_COSINE), asked)


def measure_turns(groups: Groups) -> float:
    said, asked = {}, []
    for number, group in enumerate(groups):
        for before, answer, _, question in group:
            for is_own, text in enumerate((before, answer)):
                turn = turns_search.RankedTurn(UUID(int=number + 1), len(said) + 1)
                said[turn] = turns_search.Said(text, terms.build_index_text(text, 1), bool(is_own))
            asked.append((question, len(said), number))

    def rank(query: str) -> Mapping[int, float]:
        with owned(1):
            ranks = turns_search.rank_turns(query, said, by_title={}, total=len(said), frequencies={})
        return {turn.pk: rank for turn, rank in ranks.items()}

    speaker, turns_search.SPEAKER = turns_search.SPEAKER, 0.0
    find_share("turns, any voice", rank, asked)
    turns_search.SPEAKER = speaker
    return find_share("turns", rank, asked)


@benchmark
def main(report: Report) -> None:
    groups = read_groups()
    report.add("facts found among ten", measure_facts(groups))
    report.add("turns found among ten", measure_turns(groups))


if __name__ == "__main__":
    sys.exit(main())
