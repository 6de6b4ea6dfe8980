"""Statements, passing remarks and changes in ordinary words, written before the rules that read them.

The rules were tuned on the rows with even numbers; the others are unseen.
"""

import re
from typing import Final

# Each lasts and is kept as one fact. Where less than the whole message is kept, it follows the bar.
STATEMENTS: Final = """
When I'm up for the day I tend to get sloppy
My sessions usually end before lunch
My broker is a small shop in Dublin
I've been at this since 2017
My wife handles the paperwork
I can't stand waiting for a fill
These days I only look at the daily chart
Crypto makes up about a third of what I own
Nothing I do lasts longer than a week
I'm usually flat by Friday afternoon
Most of my trades are in Bitcoin
Half a percent is what I put on the line each time
I started out with stocks back in 2012
I cut my size in half after a losing streak
As a rule I stay out on Mondays
I work as a nurse, mostly on night shifts
My two kids keep me busy until nine
Whenever I miss a move I chase the next one
I'm more of a chart person
Red days put me in a bad mood
I came to crypto from forex
I get my news from Twitter
The account I trade is my retirement money
It takes me about an hour a day
I need the money in five years
I've got around 40k in the account
My father taught me to trade
I trade off my phone during the commute
I give every idea two attempts and no more
Anything with a thin order book is a no for me
I wake up at five to catch the Asian close
I never learned to short properly
My weak spot is taking losses too late
I am not allowed to trade single stocks because of my job
My employer forbids me to trade gold
What I want is a steady two percent a month
I like to be out of the market before big announcements
I journal on paper
I live two hours behind London time
I'd sooner miss a winner than hold a loser
Big numbers on the screen make me freeze
I tend to be early
I let my winners run until the weekly close
I have a rule against adding to losers
I only take setups that I have tested
My stop goes below the last swing low
Every month I take out half of the profit
I don't do well on no sleep
Three is the most positions I can follow
My time zone is two hours ahead of UTC
I've blown two accounts by overtrading
I keep six months of expenses aside
My other half doesn't know how much I trade
I'm studying for the CFA on the side
Perps are the only thing I trade
I size by volatility
Anything under an hour is noise to me
I do my homework on Sunday evenings
I usually take profit in two steps
I trust levels more than indicators
I grew up in Naples
My English is not great, so use simple words
I want you to be blunt with me
Don't sugarcoat things for me
When you explain something, start with the conclusion
I'd rather have bullet points than long paragraphs
Please always show amounts in euros
I read your answers on a small screen
Give me the numbers first, then the story
I'm dyslexic, so short sentences help
Tables are easier for me than text
I'm a maths teacher
I run a small bakery, so mornings are out
Between ten and noon I'm in meetings
I'm free to trade from eight in the evening
My lunch break is when I place orders
I share the account with my brother
The tax man takes a quarter of my gains
I file my taxes in Portugal
I'm a resident of Dubai
I move everything to cold storage once a month
My funds sit at Bitstamp
I pay a lot of fees because I trade often
I hold a long-term bag of ETH that I don't touch
I stake most of my SOL
I stay away from leverage since 2021
I got liquidated once and never used leverage again
Losing three times in a row gets under my skin
I sleep badly with open positions
I go for walks when I'm on tilt
I have trouble pulling the trigger
I second-guess my entries
Patience is not my strength
Being wrong doesn't bother me, being late does
I always think in R, not in dollars
I set my alerts the night before
My charts are on the four-hour
I follow the 200-day average
I fade moves into resistance
I buy when everyone panics
I wait for the retest before I get in
I close half at the first target
I use a trailing stop on everything
I scale in over three orders
I don't place market orders
I skip days with thin volume
I won't hold anything through a Fed day
On expiry days I keep my hands off
I limit myself to two trades before noon
Over the summer I trade half size
My drawdown limit for the year is 15%
I'm happy with 20% a year
My dream is to quit my job at 45
I'm putting away money for a flat
I'm doing this to pay for my daughter's studies
I'd like to be consistent before I add size
This is play money for me
I treat trading as a business
I'm the kind of person who needs a plan
My memory is bad, so remind me of my rules
""".strip().splitlines()

# None lasts: the day, weather, market views, third persons, hypotheses, questions and quotes.
REMARKS: Final = """
It's raining here again
My coffee machine broke this morning
I'm on the train right now
I had a long day at work
My head hurts
I'm off to lunch
I slept badly last night
My brother is visiting this weekend
I'm waiting for a parcel
I need to pick up the kids in ten minutes
It's my birthday today
I just got home
I'm watching the game while I write this
My laptop battery is almost dead
I'll grab dinner and come back
I feel good about this week
I'm a little nervous about tonight
I forgot to eat today
I can hear the neighbours again
I have to run
Bitcoin looks heavy
I think we see new highs by Christmas
ETH can't break that level
The market feels tired to me
This pump is fake if you ask me
I don't trust this rally
I bet they sell the news
Volume is drying up
I'm bullish on SOL here
I'm getting bearish
Alts are bleeding and I love it
I expect a bounce from here
I see support around 58k
I wouldn't be surprised by a flush
Funding is crazy right now
I like the way this candle closed
My view is that it chops until the Fed
My gut says down
I hate this price action
I keep hearing that ETF flows are slowing
My friend made 200% on a meme coin
My brother always buys the top
My colleague uses 50x leverage
He never sets a stop
She trades only at night
Some guy on YouTube said that stops are for losers
My neighbour lost his house with options
My boss hates crypto
Everyone in my group is long
The guy I follow closed his longs
My uncle thinks gold is the only money
They say never trade on Mondays
People like me get rekt
A trader I know risks 10% per trade
My old mentor used to say that cash is a position
Warren Buffett never times the market
Whales don't care about fees
Most traders lose money
Good traders cut their losses early
Retail always comes late
If I had more money I'd trade full time
If it drops to 50k I'll buy
Maybe I should stop using leverage
I could try swing trading
Suppose I only traded the open
What if I always used a 2% stop?
I might switch to Kraken
I'm thinking of quitting my job
I was going to sell at the open
I would have made a fortune
I wish I had your patience
Let's say my limit is 5%
I'm considering a smaller size
I was wondering if scalping is for me
Imagine I never paid fees
I may take tomorrow off
Perhaps I trade too big
I should really keep a journal
One day I will trade for a living
I could use a second opinion
Do I usually win on Fridays?
Am I too aggressive?
What's my worst habit?
Can I trade with 5x?
Is my stop too tight?
How do I stop chasing?
Would you trade this?
Should I be trading at night?
Why do I always buy the top?
Who else trades like this?
Does my broker charge for that?
When do I normally enter?
Tell me what I risk per trade
Explain what a stop is
Show me how I did
"I only trade BTC and ETH" is what the book says
> I never hold overnight
My coach said: "never risk more than 1%"
The article claims that I should use 3x leverage
As they say, the trend is your friend
I lost a bit on that one
I got stopped out twice this morning
I made back what I lost
I opened a small long at 62k
I'm down 4% since lunch
I closed everything before the news
I took profit too early yesterday
I added to my short an hour ago
I paid 30 dollars in fees on that trade
I hit my target on SOL
I had three winners in a row
I missed the entry by a few ticks
I'm holding a bag of ETH from last week
My short is in the money
My stop got hit by a wick
My last five trades were losers
I'm still in that trade
I sized up on this one
I've been staring at this chart for hours
I moved my stop to entry on the ETH long
""".strip().splitlines()

# What is known, what is said, and what is known afterwards; facts are split by " / ".
VALUE_CHANGES: Final = (
    re.sub(
        r"\n +",
        " ",
        """
My max leverage is 5x => My max leverage went down to 3x => My max leverage went down to 3x
I trade on Binance => I left Binance, I'm on Bybit now => I left Binance / I'm on Bybit now
I risk 1% per trade => I now risk half a percent per trade => I now risk half a percent per trade
My goal is to retire at 50 => Actually, make that 55 => My goal is to retire at 55
I stop after three losses in a row => Make it two losses => I stop after two losses in a row
I live in Berlin => I've moved to Vienna => I've moved to Vienna
My daily loss limit is 3% => Lower my daily loss limit to 2% => My daily loss limit is 2%
My daily loss limit is 3% => Raise my daily loss limit to 4% please => My daily loss limit is 4%
I use 3x leverage at most => Correction: 2x at most => I use 2x leverage at most
I only trade BTC and ETH => I only trade BTC these days => I only trade BTC these days
My broker is Kraken => My new broker is Bybit => My new broker is Bybit
My stop is 2% => My stop is 3% from now on => My stop is 3% from now on
I never trade on Fridays => That rule about Fridays no longer applies => -
I never trade on Fridays / I like BTC => Please drop the rule about Fridays => I like BTC
I trade at night => You can forget that I trade at night => -
I prefer short answers => I'd like longer answers from now on => I'd like longer answers from now on
I risk 2% per trade / My goal is to buy a house => Forget what I told you about my goal => I risk 2% per trade
My name is Kim => It's Kimberly, not Kim => My name is Kimberly
I'm a scalper => I'm no longer a scalper => I'm no longer a scalper
I hold SOL for the long run => I sold all my SOL, forget about it => -
My time zone is CET => I'm in Lisbon time now, so my time zone is WET => My time zone is WET
My max drawdown is 10% => My max drawdown is 12% now, not 10% => My max drawdown is 12% now, not 10%
I trade at most 5 trades a day => I take at most 3 trades a day now => I take at most 3 trades a day now
My max leverage is 5x => My max leverage is 5x => My max leverage is 5x
I don't trade CPI days => I do trade CPI days again => I do trade CPI days again
I never risk more than 1% per trade => I never risk more than 2% per trade
    => I never risk more than 2% per trade
I have about 20k to trade with => I have about 30k to trade with now => I have about 30k to trade with now
I'm in Berlin / I like BTC => Delete everything you know about me => -
I trade the London session => Is it true that I trade the London session? => I trade the London session
My max leverage is 5x => What would happen with 10x leverage? => My max leverage is 5x
My max leverage is 5x => My brother's max leverage is 20x => My max leverage is 5x
I never trade alts => I bought some SOL yesterday => I never trade alts
My stop is 2% => My stop on this trade is at 61000 => My stop is 2%
My goal is to retire at 50 => My goal is no longer to retire at 50 => -
I think in dollars => I think in euros now => I think in euros now
My weekly loss limit is 500 dollars => My weekly loss limit is 400 dollars => My weekly loss limit is 400 dollars
I trade BTC => I also trade ETH => I trade BTC / I also trade ETH
My position size is 2% of equity => Change my position size to 3% of equity => My position size is 3% of equity
I wait for the retest before I enter => I don't wait for the retest any more
    => I don't wait for the retest any more
I only trade in the mornings => Scratch that, I only trade in the evenings => I only trade in the evenings
""",
    )
    .strip()
    .splitlines()
)

# Written after the rules, in three batches, to see what they miss; then they were taught.
MORE_STATEMENTS: Final = """
I run everything off two monitors at home
Scalps wear me out
My sister and I pool our savings
I can go weeks without a trade
Earnings season is when I'm most active
I was a poker player before this
Overnight funding eats into my results, so I avoid it
If a trade is red after an hour I cut it
I keep my leverage at two or lower
My accountant insists that I log every trade
Ever since 2020 I've traded small
Bitcoin is the only coin I really understand
I don't believe in averaging down
I'm terrible at taking profits
Sizing up too quickly is my downfall
The first trade of the day is usually my best
I prefer mornings because the spreads are tighter
I've no patience for sideways markets
Rent comes out of my trading profits
I live with my parents to keep costs down
Losing money makes me reckless
My hearing is poor so voice alerts don't help me
I check the calendar before I do anything
Anything more than three indicators confuses me
I get distracted easily in the afternoon
I owe my partner 10k, so I can't lose much
My contract at work doesn't let me day trade
I follow two rules: small size and no news
I use Kraken for spot and Bybit for perps
I trade in euros and report in dollars
I'm a vegetarian sailor who trades at sea
Discipline comes easy to me
I retire in four years
Whenever volatility spikes I go to cash
I took a course in options and still use the basics
I write down why I enter each time
I limit my screen time to two hours
My comfort zone is positions under 5k
I aim for ten percent a year
I hope to buy a farm with this some day
My biggest fear is a margin call
I never look at five-minute charts
I'd prefer explanations with examples
I respond better to short lists
Please don't use abbreviations
Talk to me in plain terms
I'm based near Lyon
My account is in Swiss francs
Two bad days and I take the rest of the week off
I only act on closed candles
My wins are small and my losses are big
I hedge with puts
I reinvest everything
I set stops by structure, not by percent
My weekdays are packed, weekends are when I plan
I like boring strategies
Being in a position while I sleep worries me
I never exceed four positions
My style is slow
I tilt after two stop-outs
I keep a spreadsheet of every fill
Futures are off the table for tax reasons
My mentor taught me to wait for the second test
I do this from a boat half of the year
The most I have ever risked is two percent
A quiet tape puts me to sleep
I'm wary of anything the crowd likes
Somewhere between five and ten trades a month is normal for me
I answer to my investors every quarter
Fast markets make my hands shake
My rule of thumb is one idea per day
I close the laptop at six no matter what
I'm paid in dollars but spend in pesos
We have a mortgage, so drawdowns hurt
My working week is Monday to Thursday
I'd give up a winner rather than sleep on risk
Two screens and a notebook are all I need
I judge a week by process, not by money
I haven't touched leverage in years
I always have a plan B
I only ever buy spot
I feel calmer with a smaller size
Ranges are where I make my money
My entries are fine but my exits need work
If the spread is wider than five ticks I skip it
My doctor told me to avoid stress
Since my daughter was born I trade less
I split my capital over three accounts
I was trained as an accountant
I speak French and a bit of German
Use metric units with me
I want every answer to end with a next step
Skip the disclaimers please
Keep your tone friendly
I trade the open and nothing else
I've got a soft spot for SOL
I don't know anything about options
I can't trade during school hours
My limit for open risk is 4%
On average I hold for two days
I get my best ideas on walks
Nobody but me has access to the account
I'm saving half of what I make
Revenge trading has cost me a lot
I hate being wrong in public
I won't touch anything below a billion in market cap
I think in percentages
My time horizon is a few weeks
Every loss gets a note in my journal
I copy nobody
I keep my orders resting overnight
The account is small and I treat it that way
Mornings are sacred to my family
I walk away after two wins
My partner checks my statements every month
I moved here from Canada for the taxes
I've been burned by stop hunts more than once
Slow grinds suit my temper
I can handle a 20% drawdown
I can't trade from the office
My bank blocks transfers to exchanges
I only risk what I can earn back in a month
As a student I have little capital
Losing streaks get to me
I set a timer so I don't stare at charts
I usually enter in thirds
I use Deribit for options
I'm slow to adapt
My style is closer to investing than trading
Weekly closes are what I act on
I prefer boring coins
I want my answers in a table
Don't round the numbers for me
I need a reason for each trade
I live off my pension
I'm in my sixties
I hate paying the spread
My phone plan is metered, so keep it short
Every quarter I move profits to bonds
I refuse to trade illiquid coins
My best month is usually October
I can't resist a falling knife
I trade best when I'm rested
After a big day I go flat
I'm allergic to averaging down
My sweet spot is two to five days
I always forget to log my exits
I keep risk under 1% on alts
I don't use margin
Most days I don't trade at all
I've got about 40k in my trading account
I won't hold through FOMC, ever
My maximum drawdown before I take a week off is 12%
I usually close everything before the New York close
I'm a physiotherapist, so I only get screen time after 6pm
Please keep your replies under five sentences
I lean bearish on altcoins in general
I like to journal every Sunday evening
I'm using a 20 and 50 EMA for trend
My target is 2% a month
I take half off at the first target
I treat every position as a swing unless I say otherwise
I can't stand seeing red so I move my stops
Three trades a day is my cap
I keep my crypto on a Ledger
I've blown up two accounts before
I don't trade the first 15 minutes after the open
Weekends are off limits for me
I only short into resistance
My wife handles the taxes
I report profits in euros
If I'm down 3% in a day I'm done
I mostly trade perps on Hyperliquid
I prefer numbers over explanations
I am left-handed
I get FOMO when BTC pumps
I follow the 4 hour chart for entries
My broker is Interactive Brokers
I never chase a move that already ran 5%
Most of my losses come from revenge trades
I'm a night owl, so Asia hours suit me
I stick to the top 10 coins by volume
I set my alerts on Sunday and act on them during the week
No trades on my birthday, family rule
I have ADHD, so keep instructions short
I'd rather miss a trade than chase one
I use a trailing stop after 2R
Please quote prices in euros
My portfolio is 60% BTC and 40% cash
I'm saving for a house deposit
I want to know the risk before the reward, always
I can only lose $500 a month
My mentor checks my trades every Friday
I prefer mean reversion to momentum
Never suggest options to me
I close winners too early
I scale in with three entries
I need at least a 2 to 1 reward for any trade
I have been using the same breakout setup for two years
English isn't my first language
I trade from my phone mostly
I skip trades when spreads are wide
My spouse doesn't know how much I trade
I like seeing the math behind a suggestion
I'm risk averse
After a big win I take a day off
My hours are 7 to 10 in the morning
""".strip().splitlines()

MORE_REMARKS: Final = """
The sun is finally out
My train is late again
I've got a dentist appointment at three
That was a rough session
I'm starving
It's so quiet on the desk
I left my charger at the office
My son scored a goal on Saturday
I'm cooking while this loads
I am on my second beer
Give me a second
I'll check back after the close
The dollar is ripping
ETH/BTC looks awful
I reckon we bounce at 60k
SOL outperforms every time BTC sleeps
I'm leaning long into the print
Momentum is fading
This range has to break soon
I see no reason to be long
Feels like a trap
I'm not buying this dip
The bid is thin
Looks like distribution to me
I'd fade that spike
Powell sounded hawkish
My cousin lost it all on Luna
Hedge funds are short
A guy in my chat never uses leverage
My old boss swore by gold
Saylor keeps buying
My dad asks me about crypto all the time
Most people quit after a year
She says that scalping is dead
Professional traders risk 1% at most
Nobody I know makes money
If only I had held
Were I braver I'd size up
I'd love to see 100k
I may switch brokers next year
In theory I could trade full time
I could sell half
Let's pretend I have 100k
Maybe I need a break from all of it
I was tempted to revenge trade
What would a pro do?
Is 3x too much for me?
How often do I break my rules?
Do you think I overtrade?
When should I take profit?
Can you remind me what my limit is?
I got in at 59,800
I'm sitting on a 3% gain
I scratched the trade
I doubled down and it worked
I bought more at the low
My limit order filled
My ETH bag is bleeding
I gave it all back
I trimmed a third into strength
I'm flat and happy
My kettle is boiling
I've lost my glasses
The baby is asleep at last
I'm in the queue at the bank
I need a new chair
I'm reading the minutes
The courier rang
My neighbour is drilling again
I've been up since four
It's freezing in this room
I'm heading out
I have guests tonight
Gold broke out
The yen is on the move
I like the look of this base
I'd call that a double bottom
My read is that it's a trap
I have a feeling that it rips
I can see 75k soon
BTC dominance keeps climbing
I smell a squeeze
The curve is steep and I'm nervous
Nothing moves on Sundays
My flatmate went all in on doge
Her broker froze withdrawals
A colleague told me to buy calls
Our janitor made a fortune
The whole desk is short
Every influencer is bullish
A friend of mine never hedges
My landlord wants to pay in bitcoin
The pros fade that move
Suppose that I doubled my size
If I were you I'd wait
I would rather be lucky than good, haha
I might be done for the year
Say I had bought at 20k
I could have been rich
Is it me or is it slow?
Where do I find my fills?
What did I do wrong there?
Am I allowed to hedge?
Which of us is right?
My fill was terrible
I'm underwater on the ETH leg
I reversed at the high
My stop is a hair above the high
I flattened before the number
I paid up for that
I left money on the table
My bus is stuck in traffic
I spilled tea on the keyboard
I'm expecting a call
The kids are shouting
I need sleep
I'm back from the gym
My mouse died
It's a holiday over here
I'm glued to the screen right now
I lost track of time
BTC is coiling
This looks toppy
ETH season when?
My bet is on the downside
I suspect a fakeout
I'd short that level
The trend is intact
I like ETH better than SOL at these prices
Somebody dumped a thousand coins
Liquidity is awful on weekends like this
My nephew runs a node
A whale moved coins
Their CEO resigned
He swears by moving averages
My trading buddy loves leverage
Everybody talks about AI coins
She hedges everything
Analysts see 120k
If rates fall I'm buying
Were it cheaper I would buy
I could see myself shorting this
Perhaps I should size down
What if I just held?
Do you know my limits?
How risky am I?
Could you check my exits?
I bought the wick
I'm two ticks from my stop
I scaled out too soon
My last loss still stings
BTC is ripping today
I just woke up
I think ETH will hit 4k next week
I was stopped out again, argh
let me think about it
can you check my last trade
I have to run, back in an hour
My internet is slow right now
I'm long BTC since this morning
I lost 300 bucks yesterday
looks like the funding flipped
haha good one
I might try a breakout system someday
the chart looks weird
I saw your message
I closed my SOL position a minute ago
I am so tired today
what a week
I bought some ETH at 2900
It's raining here
My friend says BTC is going to zero
I don't understand this answer
I feel like today is a good day to trade
I'm looking at the page now
nice, that helps
I need a coffee
I guess so
Trump said something about tariffs
I'm going on holiday tomorrow
hmm I doubt that
I think I'll skip today
My order didn't fill
I can't find the import button
The last trade was brutal
I want a summary of yesterday
I'm about to enter ETH
Gas fees are crazy right now
I just deposited 500
Someone on Twitter said SOL will double
My laptop crashed
I was up 200 and gave it all back
We should look at this again tomorrow
I need to sell before the meeting
I took your advice
ok I'll try that
My stop got hit twice today
I am watching the 58k level
Looks good to me
I saw three setups this morning
The agent opened a short, why
I don't see it
I would have held longer
Let's see how it closes
I got a margin call last night
that was my mistake
My mood is bad today
I expect a pullback
I'm reading about options
I had 4 losing days in a row
The market is closed I guess
""".strip().splitlines()
