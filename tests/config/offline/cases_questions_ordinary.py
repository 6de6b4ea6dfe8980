"""Questions as people type them, in six lots; each was asked before the vocabulary knew it.

The first lot had 52 of 100 right before, the second 41 of 70 after the first was learnt, the third 58 of 76, the
fourth 47 of 72, the sixth 24 of 40, and the fifth, of odder ones, 39 of 60, of which 2 had a wrong answer and 19 the
answer that there is no rule.
The expectations are those of `cases_questions`.
"""

from typing import Final

ORDINARY: Final = """
How did my trades do by symbol? | top net symbol
which coin is bleeding me | low net symbol
am I up or down this month | net period=this month
Whats my biggest loser ever | low net trade
How long do I usually hold a winner compared to a loser? | calls query_trades
How much have fees eaten? | fees
Do I make more on longs or shorts? | top net side
What hour of the day am I worst at? | low net hour
Are my Mondays bad? | calls query_trades
How many trades did I take last week? | count period=last week
What's my win rate on SOL? | win_rate symbol=SOL
am I following my rules? | calls query_trades
what did the breakout agent learn | calls get_my_deployments
why did it go long BTC | calls get_my_deployments
what's coming up this week that could hurt me | calls get_upcoming_events
is there a CPI print soon? | calls get_upcoming_events
How exposed am I to the Fed? | calls get_upcoming_events
what's my max leverage | says 3x
Should I short here? | says no rule&cannot&short
what's the sharpe of my agents | calls list_my_skills
compare breakout vs funding fade | top net skill
show the last 5 trades | calls get_my_deployments
Which skill should I turn off? | low net skill
How much did I make yesterday? | net period=yesterday
what's open right now | calls get_my_deployments
did the last backtest beat buy and hold | calls list_my_skills
How many of my trades hit the stop? | count exit=stop
What have I made so far? | net
Where am I losing the most money? | low net symbol
Which market should I drop? | low net symbol
How's my hit rate on longs? | win_rate side=long
what do I pay in commission on ETH | fees symbol=ETH
Do weekends cost me money? | calls query_trades
How did I do on Friday? | calls query_trades
Am I better in trends or in chop? | top net regime
how many winners did I have | count result=won
how many of my trades were winners | count result=won
What's my average loss compared to my average win? | calls query_trades
How did the ETH shorts go? | net symbol=ETH side=short
Did I make money on SOL? | net symbol=SOL
total fees paid this month | fees period=this month
What was the worst drawdown? | drawdown
How deep was my deepest drawdown? | drawdown
list my losing trades | calls query_trades
What are my top 3 trades? | calls query_trades
Show me the five worst trades | calls query_trades
How many trades do I have open? | calls get_my_deployments
Do I have any open positions? | calls get_my_deployments
How's my BTC long doing? | calls get_my_deployments
what's my unrealized profit on ETH | calls get_my_deployments
Which position is the largest? | calls get_my_deployments
Are the agents still running? | calls get_my_deployments
Has anything been refused by the risk limits? | calls get_my_deployments
What lessons has Funding fade drawn? | calls get_my_deployments
What have my agents learned lately? | calls get_my_deployments
Did Breakout on majors make money? | calls query_trades
How many trades did Funding fade make? | calls query_trades
Is Funding fade better than Breakout on majors? | calls query_trades
Is my win rate any good? | win_rate
What's my R? | calls query_trades
How many R have I made? | calls query_trades
Do I cut winners too early? | calls query_trades
How far did my trades go against me? | calls query_trades
How much funding did I pay on ETH? | funding symbol=ETH
Which trades broke my rules? | calls query_trades
How much did breaking my leverage rule cost? | calls query_trades
What are my rules? | says 1%
What did I tell you about leverage? | says 3x
Which markets do I trade? | says BTC and ETH
What hours do I trade? | says 13:00
How much do I risk per trade? | says 1%
What's the next event? | calls get_upcoming_events
When is CPI? | calls get_upcoming_events
Any Fed meeting this week? | calls get_upcoming_events
What's on the calendar tomorrow? | calls get_upcoming_events
Do my trades do worse around CPI? | calls query_trades
How did I do around FOMC meetings? | calls query_trades
what's ETH at | calls get_market_overview
Is the market choppy or trending? | calls get_market_overview
Which coin is the most volatile? | calls get_market_overview
Is funding positive on BTC? | calls get_market_overview
What's in the news about BTC? | calls get_recent_news
anything new today? | calls get_recent_news
Size a BTC long with a stop at 60000 | calls query_trades
How many dollars can I put on an ETH short with a stop 3% away? | calls query_trades
Would a 5x BTC long break my rules? | says stop&query
Is 5x ok for me? | says 3x
What is expectancy? | says average
Explain R multiples | says stop
What's slippage? | says price
What is a funding rate? | says perpetual
Which skills do I have running? | calls get_my_deployments
What backtests have I run? | calls list_my_skills
Is this live or paper? | says paper&simulated
Who are you? | says Keel
So how am I doing overall? | net
Have I been profitable lately? | net
what was my pnl yesterday | net period=yesterday
what's my average trade worth? | expectancy
What did my longs bring in? | net side=long
are shorts working for me? | net side=short
what share of my trades win? | win_rate
How often do I win on ETH? | win_rate symbol=ETH
What's my batting average? | win_rate
worst symbol? | low net symbol
Rank my coins by profit | top net symbol
Which side loses more? | low net side
Which of my agents is worst? | low net skill
how long do I stay in trades? | holding
How long was my longest trade? | top holding trade
What's the quickest trade I closed? | calls query_trades
What have I spent on fees for SOL? | fees symbol=SOL
Did funding help or hurt me? | funding
How much of my profit went to fees? | fees
My biggest win? | top net trade
Show my three biggest losses | calls query_trades
how many ETH trades lost money | count symbol=ETH result=lost
Count my shorts | count side=short
how many positions did I close by stop? | count exit=stop
What's my result on trades closed by signal? | net exit=signal
What's my profit in trending markets? | net regime=trend
do I lose in choppy markets? | net regime=chop
Which month was best? | top net month
What's the best day of the week for me? | top net weekday
How do my entries at night do? | calls query_trades
what am I holding | calls get_my_deployments
Where are my stops? | calls get_my_deployments
How far is my BTC position in profit? | calls get_my_deployments
Is anything losing money right now? | calls get_my_deployments
what is breakout on majors doing right now | calls get_my_deployments
how did funding fade do this week? | calls query_trades
Why did the agent short ETH? | calls get_my_deployments
Why was I stopped out? | calls get_my_deployments
What was the reason for the last exit? | calls get_my_deployments
What mistakes do I keep making? | calls query_trades
How often do I break my leverage limit? | calls query_trades
Did I stick to my plan last week? | calls query_trades
What does breaking rules cost? | calls query_trades
Is there anything on the economic calendar? | calls get_upcoming_events
Could the Fed hurt my ETH position? | calls get_upcoming_events
what's scheduled for tomorrow? | calls get_upcoming_events
How does bitcoin look? | calls get_market_overview
What are funding rates like? | calls get_market_overview
is SOL in a trend? | calls get_market_overview
headlines on ethereum? | calls get_recent_news
Which of my strategies has the best backtest? | calls list_my_skills
How did the last test of Breakout on majors go? | calls list_my_skills
Max position for a SOL short with a stop at 220? | calls query_trades
How much ETH can I buy if my stop is 5% away and I risk 1%? | calls query_trades
May I go long BTC at 5x? | says stop
What's my drawdown limit? | says 15%
Which hours did I say I trade? | says 13:00
What did I say about alts? | says BTC and ETH
Am I allowed to trade SOL? | says BTC and ETH
What does drawdown mean? | says equity
What's an R? | says stop
Will BTC go up tomorrow? | says no rule&cannot&last price
Write me a haiku about my losses | says no rule
How much money does my brother make? | says no rule&not among&nothing
What should I cook tonight? | says no rule&not among&nothing
How many trades did Warren Buffett make? | says no such skill&no rule
What's the capital of France? | says no rule
Is it raining in the markets district? | says no rule
How much is a flight to Berlin? | says no rule
What's my total return? | net
How much am I down? | net
Have I lost money on BTC? | net symbol=BTC
Tell me my realised profit | net
How profitable are my ETH longs? | net symbol=ETH side=long
Which direction works best for me? | top net side
Which asset costs me the most? | low net symbol
give me my results per weekday | calls query_trades
Break my PnL down by side | top net side
split my profit by skill | top net skill
profit per hour of the day | calls query_trades
What percentage of my shorts are winners? | calls query_trades
win rate by symbol | top win_rate symbol
whats my win rate on BTC shorts | win_rate symbol=BTC side=short
How many losers did I have this month? | count result=lost
How many trades yesterday? | count period=yesterday
Number of trades on ETH? | count symbol=ETH
What's a typical trade of mine worth? | expectancy
average loss on SOL | expectancy symbol=SOL result=lost
what do I lose on average when I lose? | expectancy result=lost
How large is my average win? | expectancy result=won
Do my winners outweigh my losers? | calls query_trades
What's the ratio of wins to losses? | calls query_trades
Average hold time of shorts | holding side=short
How long are losers held? | holding result=lost
total commissions? | fees
What did trading cost me this week? | calls query_trades
Did I pay or receive funding? | funding
How far underwater have I been? | calls query_trades
the best trade of last week | calls query_trades
List my last ten trades | calls get_my_deployments
show recent trades | calls get_my_deployments
Show me all my shorts | calls query_trades
When did I last trade BTC? | calls get_my_deployments
do I have a BTC position? | calls get_my_deployments
What's my exposure? | calls get_my_deployments
How much money is at risk right now? | calls get_my_deployments
what is the unrealised loss on my BTC long | calls get_my_deployments
Is my agent paused? | calls get_my_deployments
what did the agents do today | calls query_trades
Has Breakout on majors taken any trades this week? | calls query_trades
Tell me about Funding fade | calls query_trades
why was the last trade closed? | calls get_my_deployments
Why are we short ETH? | calls get_my_deployments
What is the lesson from my losses? | calls get_my_deployments
Summarise the lessons | calls get_my_deployments
how many times did I violate my rules | calls query_trades
Which rule do I break most? | calls query_trades
What do broken rules cost me on ETH? | calls query_trades
next FOMC date? | calls get_upcoming_events
What events are ahead? | calls get_upcoming_events
how do I trade around jobs reports? | calls query_trades
Bitcoin price please | calls get_market_overview
how's the market | calls get_market_overview
is volatility high on ETH | calls get_market_overview
which coin has the highest funding? | calls get_market_overview
News about Solana? | calls get_recent_news
How did the backtests do? | calls list_my_skills
show my skills | calls list_my_skills
What size can I trade on ETH with a stop at 2900? | says side
position size for long BTC, stop 85000, risk 0.5% | calls query_trades
What is my leverage limit? | says 3x
Do I trade alts? | says BTC and ETH
When do I trade? | says 13:00
What goals do I have? | says no rule&not among&15%
How do I like my answers? | says short
define basis | says perpetual
is my money real here? | says paper&simulated
Should I buy more ETH? | says no rule&cannot
Is bitcoin a scam? | says no rule
How much did my neighbour lose? | says no rule&not among
How long do elephants live? | says no rule
What's the best pizza place? | says no rule
Which side of the bed is best? | says no rule
Is my account growing? | calls query_trades
How much did ETH make me in total? | net symbol=ETH
What's my profit on bitcoin so far? | net symbol=BTC
am I losing money with shorts? | net side=short
Total gains from winning trades? | net result=won
How do my longs compare with my shorts? | top net side
Which one performs better, Funding fade or Breakout on majors? | calls query_trades
Which exit type loses me the most? | low net exit
What time of day do I lose the most? | low net hour
On which weekdays do I make money? | top net weekday
How many ETH shorts have I closed? | count symbol=ETH side=short
how many of my BTC trades made money | count symbol=BTC result=won
Did I win more than I lost last week? | calls query_trades
What's my win rate this month on ETH? | win_rate symbol=ETH
How good is my timing? | says no rule
What's the expectancy of my shorts? | expectancy side=short
What do I make per trade? | expectancy
Profit factor on longs? | profit_factor side=long
How high were my fees last week? | fees period=last week
Did fees eat my profit? | fees
how much funding on ETH positions did I collect | calls query_trades
How long was I in my losing trades? | holding result=lost
How bad did it get? | says no rule&drawdown
What was my biggest drop? | drawdown
What's the most I ever lost on one trade? | low net trade
Longest losing trade? | calls query_trades
Show my winners | calls query_trades
Give me my last 3 closed trades | calls get_my_deployments
What do my winners have in common? | calls query_trades
Are my results significant? | expectancy
could it all be luck? | expectancy
Do I have enough trades to judge? | says too few&n=&interval
what positions are on? | calls get_my_deployments
What am I long? | calls get_my_deployments
How much is my ETH long up? | calls get_my_deployments
Is my stop close? | says no rule&not among&calls
Which agent is running? | calls get_my_deployments
What did the agent do last? | calls get_my_deployments
Why hasn't it traded? | calls get_my_deployments
Has the agent been halted? | calls get_my_deployments
Which lessons came out of the ETH trades? | calls get_my_deployments
What should I learn from my losses? | calls get_my_deployments
Which trades broke the leverage rule? | calls query_trades
How much better do I do when I keep my rules? | calls query_trades
When's the next CPI? | calls get_upcoming_events
What's happening this week? | calls get_upcoming_events
What should I watch today? | calls get_upcoming_events
Do I do better around CPI? | calls query_trades
What does BTC usually do after FOMC? | calls query_trades
How much is one bitcoin? | calls get_market_overview
ETH funding? | calls get_market_overview
Is the market calm? | calls get_market_overview
Any headlines about bitcoin? | calls get_recent_news
What's my best backtest? | calls list_my_skills
Was the last backtest profitable? | calls list_my_skills
How big should my ETH short be with stop 3300? | calls query_trades
I'd like to buy SOL at 3x with a stop 5% below, is that ok? | calls query_trades
How much can I lose per trade? | says 1%
what exposure limit do I have? | says no rule&not among
Which coins do I stay away from? | says BTC and ETH
What's my daily routine? | says no rule&not among
What is a stop loss? | says no rule&stop
Explain win rate | says share
Who made you? | says Keel
Do you have access to my money? | says no rule&paper
How tall is the Eiffel Tower? | says no rule&no such skill
Which football team wins most? | says no rule
How much profit does Tesla make? | says no rule&no such skill
Tell me a joke about traders | says no rule
How has my month been? | net period=this month
Which pair do I trade worst? | low net symbol
Which coin do I win most with? | calls query_trades
Are longs or shorts more profitable for me? | top net side
Do I lose more than I win? | calls query_trades
What do my BTC shorts look like? | net symbol=BTC side=short
What's the average duration of my trades? | holding
How fast do I cut losers? | holding result=lost
Have fees been high this month? | fees period=this month
What are my trading costs on ETH? | fees symbol=ETH
Which of my trades had the biggest drawdown? | calls query_trades
Show the top five trades by profit | calls query_trades
Which trades lost the most? | calls query_trades
How many times was I stopped out this month? | count exit=stop
What's my success rate on longs? | win_rate side=long
What is my record on SOL? | net symbol=SOL
net result since last week? | calls query_trades
Profits in 2026? | calls query_trades
Results for November | calls query_trades
Morning trades: how do they do? | calls query_trades
How do I do at night? | calls query_trades
What's my worst weekday for shorts? | calls query_trades
Am I any good? | says no rule&net&win
What would 1% risk be in dollars? | says no rule&stop&not among
Is a SOL short ok with stop 250 and target 200? | calls query_trades
Check a BTC long, stop 84000 | calls query_trades
Is my risk too high? | calls get_my_deployments
How much do I have in open trades? | calls get_my_deployments
Tell me about my open positions | calls get_my_deployments
Any open orders? | calls get_my_deployments
When did the agent last decide something? | calls get_my_deployments
Why is it short ETH? | calls get_my_deployments
How is my newest strategy doing? | calls get_my_deployments
Anything I should learn? | calls get_my_deployments
What patterns did you find in my trades? | calls query_trades
Do I break rules more when I lose? | calls query_trades
Are broken rules costly? | calls query_trades
Which macro events are next? | calls get_upcoming_events
Should I worry about NFP? | calls get_upcoming_events
Is the Fed meeting dangerous for my long? | calls get_upcoming_events
What did my trades do around CPI releases? | calls query_trades
Where's ETH trading? | calls get_market_overview
what's the funding like on BTC and ETH? | calls get_market_overview
Is bitcoin volatile today? | calls get_market_overview
What's the latest news? | calls get_recent_news
What happened to ETH in the news? | calls get_recent_news
Which backtest did best? | calls list_my_skills
Compare my strategies | calls query_trades
What leverage do I use? | says 3x
Do I have a rule on drawdown? | says 15%
What did I say I trade? | says BTC and ETH
How do you know my risk limit? | says 1%&not among&no rule
What's a good win rate? | says no rule&Win rate
What is mean reversion? | says average
What's the meaning of life? | says no rule&not among
Who won the world cup? | says no rule
What's my dog's name? | says not among&no rule
How many people use Keel? | says no rule
Is gold going up? | says no rule&last price&no market
Have my SOL shorts paid off? | net symbol=SOL side=short
What's the average size of a losing trade in dollars? | expectancy result=lost
which days should I stay away from the market | low net weekday
how many of my BTC longs ended at the stop | count symbol=BTC side=long exit=stop
total commission on SOL please | fees symbol=SOL
Did the ETH longs make me anything last 7 days? | calls query_trades
What did funding cost me on BTC? | funding symbol=BTC
Which of my bots lost the most? | low net skill
what share of my shorts win? | win_rate side=short
Do I hold longs longer than shorts? | top holding side
How much did the stops cost me? | net exit=stop
Am I any good at shorting? | net side=short
Whats my profit factor on ETH | profit_factor symbol=ETH
What have my winners made all together? | net result=won
How bad did my equity drop at worst? | drawdown
how long was I in my SOL trades on average | holding symbol=SOL
Is trend or chop better for me? | top net regime
What was the biggest win on ETH? | calls query_trades
Anything open in BTC at the moment? | calls get_my_deployments
Is any of my bots paused? | calls get_my_deployments
Where's my stop on the BTC position? | calls get_my_deployments
Which position is losing right now? | calls get_my_deployments
When did I last close a trade? | calls get_my_deployments
What did my agent do yesterday? | calls query_trades
Is ETH in a trend right now? | calls get_market_overview
What are longs paying on SOL? | calls get_market_overview
is the fed meeting this week? | calls get_upcoming_events
Anything on the calendar tomorrow? | calls get_upcoming_events
Headlines about bitcoin? | calls get_recent_news
Which of my strategies has the best backtest? | calls list_my_skills
How big for a SOL short with the stop 3% away and $50 risk? | calls query_trades
Can I go long ETH at 4x? | says 3x&stop&no rule
Is 10x too much for me? | says 3x
What did I say about alts? | says BTC and ETH
How much can I lose on one trade? | says 1%
Which coins did I say I trade? | says BTC and ETH
Who won the world cup? | says no rule
Can you recommend a broker? | says no rule
What does R mean? | says stop
Are my trades on Binance taxed? | says no rule
How many trades per day | count
how much money do I have | calls get_my_deployments
what's my equity | calls get_my_deployments
how many stops were hit last week | calls query_trades
show trades that broke a rule | calls query_trades
show me my ETH shorts | calls query_trades
""".strip().splitlines()
