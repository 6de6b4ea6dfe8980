"""A hundred questions of a trader, each with what a right answer holds.

Written before the rules, which were tuned on the rows with even numbers; the others are unseen. After the bar:
`measure filters` is a figure that the test computes from the rows, `top` or `low` names the best or worst group of a
measure, `calls` names the tools of the answer in order, `says` has words of which the answer holds one.
`OF_RECORD` asks for the record in words of facts: "my", the coins, the hours, the stops. The first forty were tuned on.
"""

from typing import Final

QUESTIONS: Final = """
What is my total profit and loss? | net
What's my win rate? | win_rate
How much did I make on BTC? | net symbol=BTC
How many trades have I closed? | count
What was my best trade? | top net trade
What was my worst trade? | low net trade
How much have I paid in fees? | fees
How much funding have I paid? | funding
What is my profit factor? | profit_factor
What's my expectancy per trade? | expectancy
How long do I hold on average? | holding
What's my max drawdown? | drawdown
Which symbol makes me the most money? | top net symbol
Which of my skills earns the most? | top net skill
Do I do better long or short? | top net side
How did my shorts do? | net side=short
What did I earn last week? | net period=last week
How am I doing this month? | net period=this month
Am I profitable? | net
What is my PnL on ETH longs? | net symbol=ETH side=long
Win rate on SOL? | win_rate symbol=SOL
At what hour do I trade best? | top net hour
Which weekday is my worst? | low net weekday
How do my trades in chop do? | net regime=chop
What's my net by exit kind? | top net exit
How many of my trades were stopped out? | count exit=stop
How many losing trades do I have? | count result=lost
What do my losing trades have in common? | calls query_trades
What's the average winner? | expectancy result=won
How big is my average loss? | expectancy result=lost
Show me my PnL per symbol | top net symbol
Break down my results by month | top net month
How many trades did I make in the last 7 days? | count period=last 7 days
What were my fees on BTC? | fees symbol=BTC
Which agent made the most? | top net skill
What's the win rate of my longs vs my shorts? | top win_rate side
What is the average R of my trades? | calls query_trades
How many times did I trade SOL? | count symbol=SOL
What did I lose in total? | net result=lost
How long do I hold my winners? | holding result=won
how long do i hold losers | holding result=lost
Profit by version | top net version
Is my edge real or luck? | expectancy
Is that sample large enough to trust? | says too few&n=&interval
Did I make money yesterday? | net period=yesterday
Show my last 5 trades | calls get_my_deployments
Show me all my BTC trades | says BTC
What was my last trade? | calls get_my_deployments
Longest trade? | top holding trade
How much have I made trading ETH and SOL? | net symbol=ETH,SOL
What's running and how is it doing? | calls get_my_deployments
What positions do I have open? | calls get_my_deployments
What's my unrealised PnL? | calls get_my_deployments
Anything I should worry about? | calls get_my_deployments get_upcoming_events
What's my biggest risk right now? | calls get_my_deployments get_upcoming_events
Have any orders been rejected? | calls get_my_deployments
Why did you open this position? | calls get_my_deployments
Why did you close the last trade? | calls get_my_deployments
What would make you close it? | calls get_my_deployments
Are my agents running? | calls get_my_deployments
What did I learn from my last trades? | calls get_my_deployments
What lessons are there? | calls get_my_deployments
Did the lessons help? | calls get_my_deployments
How did my last backtest go? | calls list_my_skills
Which of my skills should I test next? | calls list_my_skills
What skills do I have? | calls list_my_skills
How is Funding fade doing? | calls query_trades
What's the Sharpe of Breakout on majors? | says Sharpe&never backtested
What is coming up this week? | calls get_upcoming_events
When is the next FOMC? | calls get_upcoming_events
Which of these events could hurt my positions? | calls get_my_deployments get_upcoming_events
What will CPI do to my BTC long? | calls get_my_deployments
How did BTC move after the last rate decisions? | says no rule
How do my trades around FOMC do? | calls query_trades
Am I breaking my own rules? | calls query_trades
How much do broken rules cost me? | calls query_trades
What's the price of BTC? | calls get_market_overview
What is funding on ETH right now? | calls get_market_overview
How volatile is SOL? | calls get_market_overview
What's the market doing today? | calls get_market_overview
Is BTC trending? | calls get_market_overview
Any news today? | calls get_recent_news
What's new on ETH? | calls get_recent_news
How large should this position be? | says stop&symbol
How big can a BTC long be with a stop at 60000? | calls query_trades
I want to long ETH with a stop at 2900, how much? | calls query_trades
Can I short SOL with a stop at 200 and 1% risk? | calls query_trades
What size for BTC long, stop 4% away, risking $100? | calls query_trades
What do you know about me? | says leverage
What's my max leverage? | says 3x
What do I trade? | says BTC and ETH
When do I usually trade? | says 13:00
What's my risk per trade? | says 1%
What is my favourite colour? | says not among
What should I tell you about how I trade? | says risk&hours
What is MAE? | says worst&adverse
What does funding mean? | says perpetual
What is a profit factor? | says losses
Is this real money? | says paper&simulated
What can you do? | says record
Which symbol cost me the most? | low net symbol
Which coin has cost me most? | low net symbol
What was my worst trade and why was it closed? | low net trade
Why did my best trade win? | top net trade
What do I hold right now? | calls get_my_deployments
Which coins do I hold? | calls get_my_deployments
""".strip().splitlines()

OF_RECORD: Final = """
How did my trades do by symbol? | top net symbol
What did my trades make by symbol? | top net symbol
Which of my symbols is doing best? | top net symbol
How are my longs doing per coin? | net side=long
How did my agents trade by weekday? | top net weekday
What were my losses by side? | net result=lost
Which of my coins loses the most? | says Worst: **ETH
How do my BTC trades compare to my ETH trades? | net symbol=BTC
At what hours do my shorts lose? | calls query_trades
How are my trades in BTC and ETH doing? | net symbol=BTC,ETH
How does my risk pay off by symbol? | top net symbol
Are my shorts any good? | net side=short
How often do my longs win? | win_rate side=long
Do my trades do worse after 20:00? | says no rule&20:00
Where do my losses come from? | calls query_trades
Which of my exits costs me the most? | low net exit
How have my trades in ETH turned out? | net symbol=ETH
How profitable are my longs in trending markets? | net side=long regime=trend
How many of my longs won? | count side=long result=won
How did my trades end? | calls query_trades
Which of my trading hours pays best? | top net hour
My results by skill please | top net skill
Show my net for each side | top net side
How are my weekend trades doing? | calls query_trades
What does my average loser cost? | expectancy result=lost
Which of my two symbols do I trade more? | top count symbol
How do my stops work out? | calls query_trades
What do my trades earn after fees? | net
Do my BTC shorts make money? | net symbol=BTC side=short
How did my strategies perform last week? | net period=last week
Split my results by coin | top net symbol
Which of my agents trades best? | top net skill
What is my win rate by market? | top win_rate symbol
What have my trades on Mondays made? | calls query_trades
How long do my trades in ETH last? | holding symbol=ETH
What did my losing longs cost me? | net side=long result=lost
How did my agents' trades end, by exit kind? | top net exit
What is the drawdown of my trades? | drawdown
Were my trades at high leverage worse? | says no rule
Which side am I better at? | top net side
Which of my longs made the most? | calls query_trades
How are my ETH shorts doing? | net symbol=ETH side=short
How much have my stops cost me? | net exit=stop
Which of my bots is worst? | low net skill
Did my longs or my shorts do better? | top net side
What are my results per weekday? | top net weekday
How do my winners and losers differ in holding time? | calls query_trades
What is the average of my BTC trades? | expectancy symbol=BTC
How often do my shorts lose? | count side=short result=lost
Are my losses bigger than my wins? | says no rule&expectancy&profit factor
Which of my hours cost me the most? | low net hour
My trades by side | top net side
How are my agents doing on SOL? | net symbol=SOL
Do my trades make money in chop? | net regime=chop
How did my ETH trades do this month? | calls query_trades
What did my last ten trades make? | says no rule&exit by
Which coin do my losses come from? | calls query_trades
What share of my trades win? | win_rate
Where do my BTC and ETH trades stand? | net symbol=BTC,ETH
How do my positions usually end? | calls query_trades
""".strip().splitlines()
