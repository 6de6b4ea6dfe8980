"""What a person typed, how a model words it, and the sentence that is stored beside news."""

from typing import Final

# The gate was written with the first half in view; the second was run unseen.
TUNED: Final = (
    ("I trade the New York session. Any news?", "Trades the NY session", "I trade the New York session"),
    ("Remember that I never hold over the weekend.", "Closes before weekends", "I never hold over the weekend"),
    ("My account is about 25k dollars.", "Account size of $25,000", "My account is about 25k dollars"),
    ("I risk 50 basis points per trade.", "Risk per trade is 0.5%", "I risk 50 basis points per trade"),
    ("Hi Keel! I only touch BTC and ETH.", "Restricted to BTC and ETH", "I only touch BTC and ETH"),
    ("I keep my stops at 2%, what's new?", "Uses a 2% stop loss", "I keep my stops at 2%"),
    ("I get nervous after two losses and revenge trade.", "Revenge trades when losing 2 times", ""),
    ("My wife and I save for a house by 2029.", "Goal: house purchase in 2029", ""),
    ("By the way, I pay 26% tax on gains in Italy.", "Tax rate is 26%", "I pay 26% tax on gains in Italy"),
    ("Max leverage is 5x.", "Leverage limit of 5", "Max leverage is 5x"),
    ("Be concise, please.", "Prefers concise answers", "Be concise"),
    ("I hold trades for two days at most.", "Holding period is up to 48 hours", ""),
    ("I stop trading at six in the evening.", "No trades after 18:00", "I stop trading at six in the evening"),
    ("Actually, I moved to Lisbon.", "Lives in Lisbon now", "I moved to Lisbon"),
    ("I use 10x leverage in my paper game only.", "Uses 10x leverage", "I use 10x leverage in my paper game only"),
    ("My stop is 2% and my target is 10%.", "My stop is 10%, my target 2%", "My stop is 2% and my target is 10%"),
    ("No trades after 8 pm.", "Stops trading at 20:00", "No trades after 8 pm"),
    ("Can you note that I'm allergic to shellfish?", "Shellfish allergy", ""),
    ("I cut winners too early.", "Exits winners early", "I cut winners too early"),
    ("I trade with Kraken since 2021.", "Broker: Kraken", "I trade with Kraken since 2021"),
)
UNSEEN: Final = (
    ("I like short answers without caveats.", "Prefers short replies", "I like short answers without caveats"),
    ("I risk half a percent per trade.", "Risk per trade is 0.5%", "I risk half a percent per trade"),
    ("Any news? Also, I moved my account to Kraken.", "Account is at Kraken now", "I moved my account to Kraken"),
    ("I don't short meme coins.", "Avoids shorting meme coins", "I don't short meme coins"),
    ("We live in Porto with our two kids.", "Lives in Porto", "We live in Porto with our two kids"),
    ("I stop for the day after three losses.", "Daily stop after 3 losses", ""),
    ("I use TradingView for my charts.", "Charts with TradingView", "I use TradingView for my charts"),
    ("My leverage tops out at 4x.", "Leverage is at most 4x", "My leverage tops out at 4x"),
    ("I am learning to trade options this year.", "Studying options trading", ""),
    ("No more than 3 open positions.", "At most three positions open", "No more than 3 open positions"),
    ("I'm a nurse and I work nights.", "Nurse working nights", ""),
    ("My base currency is euro. What's up today?", "Base currency: EUR", "My base currency is euro"),
    ("I take profits every Friday.", "Takes profit on Fridays", "I take profits every Friday"),
    ("Please remember I never average down.", "Does not average down", "I never average down"),
    ("My daily loss limit is 300 dollars.", "Daily loss is limited to $300", "My daily loss limit is 300 dollars"),
    ("I want to retire at 55, I'm 34 now.", "Retirement goal: age 55", ""),
    ("Answer in German.", "Wants German answers", "Answer in German"),
    ("I check the market twice a day.", "Looks at the market 2 times daily", "I check the market twice a day"),
    ("I prefer limit orders to market orders.", "Prefers limit to market orders", ""),
    ("Since March I trade gold only.", "Trades only gold", "Since March I trade gold only"),
)
