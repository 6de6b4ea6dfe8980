"""The sentences that the seeds quote or give as stored facts, as a person types them.

`STATEMENTS`: the known facts, what is typed and what is known afterwards, each seed sentence once. `ASKED`: what is
typed and the tools that look it up, none for what the prompt says. Neither a question nor a command is kept.
"""

from typing import Final

# face: known / known => typed => known afterwards ("-": nothing)
STATEMENTS: Final = """
coach: - => I never trade alts. => I never trade alts
coach: - => I don't take leverage above 5×. => I don't take leverage above 5×
coach: - => I trade BTC and ETH only — no alts. => I trade BTC and ETH only — no alts
coach: - => I usually trade during US morning (UTC 13:00–17:00). => I usually trade during US morning (UTC 13:00–17:00)
coach: - => I want to grow this account 2× in 6 months without drawdowns over 15%. => \
I want to grow this account 2× in 6 months without drawdowns over 15%
coach: - => I want to stop trading after one losing day => I want to stop trading after one losing day
coach: - => I seem to favour mean-reversion setups => I seem to favour mean-reversion setups
coach: I don't take leverage above 5x => Actually, my max leverage is 3x. => My max leverage is 3x
advisor: - => remember I'm targeting retirement at 50 => I'm targeting retirement at 50
advisor: - => don't suggest individual stocks, I only do funds. => \
Don't suggest individual stocks / I only do funds || Don't suggest individual stocks, I only do funds
advisor: - => actually I prefer funds only => I prefer funds only
advisor: - => funds only => Funds only
advisor: - => I have a 401k at Fidelity => I have a 401k at Fidelity
advisor: - => 401k at Fidelity => 401k at Fidelity
advisor: - => Thai tax resident => Thai tax resident
advisor: - => I'm a Thai tax resident => I'm a Thai tax resident
advisor: - => be concise => Be concise
advisor: - => be concise; skip disclaimers => Be concise / Skip disclaimers || Be concise; skip disclaimers
advisor: - => show percentages not dollars => Show percentages not dollars
advisor: - => my wife's name is Sarah => My wife's name is Sarah
advisor: - => wife's name is Sarah => Wife's name is Sarah
advisor: - => My risk tolerance is moderate => My risk tolerance is moderate || risk tolerance: moderate
advisor: - => My time horizon is 10–15 years => My time horizon is 10–15 years || time horizon: 10–15 years
advisor: - => no individual stocks (funds only) => No individual stocks (funds only)
advisor: I'm targeting retirement at 50 => Actually, change that to age 55 => I'm targeting retirement at 55
advisor: Funds only => yes, still funds only => Funds only
advisor: I'm targeting retirement at 50 => Forget the retirement age thing => -
companion: - => My name is Alex => My name is Alex
companion: - => I prefer morning workouts => I prefer morning workouts
companion: - => I like Italian food => I like Italian food
companion: - => I'm vegetarian => I'm vegetarian
companion: - => I live in Seattle => I live in Seattle
companion: - => I work in tech industry => I work in tech industry
companion: I live in Seattle => Actually, I live in Portland now => I live in Portland now || I live in Portland
""".strip().splitlines()

# typed => the place: its id, name and notes
PLACES: Final = """
My home is 123 Main St, Seattle => home, Home, 123 Main St, Seattle
Home: 123 Main St, Seattle => home, Home, 123 Main St, Seattle
I work at 5 Harbour Road in Seattle => work, Work, 5 Harbour Road in Seattle
My favorite spot is the pier at Alki Beach => favorite-spot, Favorite spot, the pier at Alki Beach
""".strip().splitlines()

# face: typed => the tools that are called, or "-"
ASKED: Final = """
coach: Summarize my last 20 trades => query_trades | get_my_deployments
coach: summarize my last 20 trades => query_trades | get_my_deployments
coach: How did this strategy actually perform on this symbol last week? => query_trades | get_my_deployments | -
coach: What's my BTC long going to do if CPI prints hot? => get_my_deployments | get_upcoming_events
coach: What's happening? => get_market_overview | get_my_deployments | get_upcoming_events
coach: What's BTC funding doing right now while I'm drafting this? => get_market_overview
coach: Help me build a BTC funding-flip mean-reversion strategy => set_basics | set_strategy | -
coach: I want something safer than my last one => -
coach: Show me a template => -
coach: Why did you open this position? => get_my_deployments
coach: What's my biggest risk right now? => get_my_deployments
coach: What would make you close it? => get_my_deployments
coach: Have you been rejected recently? => get_my_deployments
coach: What's running and how is it doing? => get_my_deployments
coach: Anything I should worry about? => get_my_deployments
coach: What's the market doing today? => get_market_overview
coach: Show me my BTC reversion vs my BTC momentum, head to head. => list_my_skills | query_trades | -
advisor: What does the Advisor know about me? => list_preferences
advisor: Summarize my last 20 trades => query_trades | get_my_deployments
""".strip().splitlines()

# Commands to Keel in other words, none of them a fact; the second half was not seen while the forms were chosen.
COMMANDS: Final = """
Summarize my losing trades of this week
Analyze my ETH shorts
Draft a strategy that buys breakouts on the 4h chart
Calculate my average risk per trade
Walk me through my last trade
Look at my open positions
Plot my drawdown since March
Backtest my trend strategy over last month
Explain my drawdown
Rate my strategy
Go through my trades of Monday
Describe my biggest loss
Export my trades of 2025
Translate my rules into German
Think about my stop for this trade
Evaluate my entries on BTC
""".strip().splitlines()
