"""Lines of strategies in traders' words, with their meaning as a person reads them.

A case without a meaning must stay unread. The second half was not looked at while the grammar was tuned.
Bars are of 4 hours and 1 day; the style is "mixed" unless the case gives another.
"""

from typing import NamedTuple


class Case(NamedTuple):
    """A line, the part of the strategy that it stands in, and its terms."""

    part: str
    text: str
    meaning: tuple[str, ...] = ()
    style: str = "mixed"


def read_cases(text: str) -> list[Case]:
    """Read cases, each a line: part with its style, words and, after an arrow, terms; indented lines continue one."""
    cases = []
    for line in text.strip().replace("\n    ", " ").splitlines():
        if not line.startswith("#"):
            head, _, meaning = line.partition(" => ")
            place, _, words = head.partition(" | ")
            part, _, style = place.partition(" ")
            cases.append(Case(part, words, tuple(meaning.split("; ")) if meaning else (), style or "mixed"))
    return cases


TUNED = read_cases("""
# Entries
entry | Buy when the close is above the 55-bar high => long: close above 55-bar high
entry | Close beyond the 55-bar high or low => long: close above 55-bar high; short: close below 55-bar low
entry | Long: a 4-hour close above the highest high of the last 55 bars. => long: close above 55-bar high
entry | Go short when price breaks below the low of the previous 20 bars => short: close below 20-bar low
entry | Buy a 20-bar breakout => long: close above 20-bar high
entry | 55-bar breakout => long: close above 55-bar high; short: close below 55-bar low
entry | A close beyond the highest or lowest close of the last 55 bars, with the regime not shock =>
    long: close above 55-bar highest close and regime is not shock;
    short: close below 55-bar lowest close and regime is not shock
entry | Long when the 20-bar moving average crosses above the 50-bar moving average =>
    long: 20-bar mean crosses above 50-bar mean
entry | Buy if RSI(14) is below 30 and the daily close is above the 50-day EMA =>
    long: RSI(14) below 30 and 1d close above 1d 50-bar EMA
entry | Long above the 20-bar high, short below the 20-bar low =>
    long: close above 20-bar high; short: close below 20-bar low
entry | Sell short when the RSI crosses below 70 => short: RSI(14) crosses below 70
entry | Buy a close more than 2 standard deviations below the 20-bar mean =>
    long: close below 20-bar mean - 2 deviations
entry | Fade a close more than two deviations from the 20-bar mean =>
    long: close below 20-bar mean - 2 deviations; short: close above 20-bar mean + 2 deviations
entry | Short when the price closes above the upper Bollinger band (20, 2) =>
    short: close above 20-bar mean + 2 deviations
entry | Short: annualised funding above 40 % for at least two payments =>
    short: annual funding above 40% for 2 payments
entry | Long when funding is below -0.01 % => long: funding below -0.01%
entry range | Regime chop, price in the outer tenth of the last 48 bars' range =>
    long: regime is chop and close below 10% point of the 48-bar range;
    short: regime is chop and close above 90% point of the 48-bar range
entry | Buy when the close is above the 20-bar high and volume is above 1.5 times its 20-bar average =>
    long: close above 20-bar high and volume above 1.5 x 20-bar mean volume
entry | Buy a new 20-day high between 08:00 and 16:00 UTC => long: close above 1d 20-bar high and time 08:00-16:00 UTC
entry | Never open a position => never
entry | Do nothing at all. => never
entry | Buy when it feels right
entry | Buy a close above the 55-bar high when order flow confirms
entry | Close above the 55-bar high or RSI below 30 and volume above its 20-bar mean
entry | Buy a close above the 900-bar high
entry | Long when the weekly close is above the 20-week mean
# Exits
exit | A close beyond the opposite extreme of the last 20 bars =>
    exit long: close below 20-bar low; exit short: close above 20-bar high
exit | Close below the 10-bar low for longs, above the 10-bar high for shorts =>
    exit long: close below 10-bar low; exit short: close above 10-bar high
exit | Back through the 10-bar mean => exit long: close below 10-bar mean; exit short: close above 10-bar mean
exit | Stop at two average ranges => stop 2 ATR(14)
exit | Stop loss 2 % below the entry => stop 2%
exit | Take profit at 3 ATR or after 48 hours => target 3 ATR(14); exit after 48 h
exit | Funding back inside 10 % a year => exit: annual funding size below 10%
exit | Exit after exactly one bar. => exit after 1 bar
exit | Close the position at the end of the UTC day => exit at the end of the UTC day
exit | Trail the stop under each swing low
exit | Sell half at 1R
# Avoid
avoid | No entry in a chop regime => no entry: regime is chop
avoid | No new position within 2 hours before FOMC or CPI => no entry: within 2 h before FOMC or CPI
avoid | Never add to a losing position => always kept
avoid | No longs below the 200-bar moving average => no long: close below 200-bar mean
avoid | No trades on weekends => no entry: on Sat or Sun
avoid | Never trade after 20:00 UTC => no entry: time 20:00-24:00 UTC
avoid | No trade within an hour of a scheduled event => no entry: within 1 h of any event
avoid | No third try at the same edge of a range
avoid | No trades around CPI
avoid | Don't trade when angry
# Risk management
risk | Risk at most 0.5 % of equity to the stop => risk 0.5% of equity to the stop
risk | Half size on Fridays
# Found later, in lines written without the grammar in view
entry | Buy if price > 200 EMA and RSI < 40 => long: close above 200-bar EMA and RSI(14) below 40
entry | Open a long when funding is negative for three payments => long: funding below 0% for 3 payments
entry | Long when the close is above the 20-bar high but not in a chop regime =>
    long: close above 20-bar high and regime is not chop
entry | Buy after two consecutive closes above the 20-bar mean
exit | Exit on a 10-bar low for longs and a 10-bar high for shorts =>
    exit long: close below 10-bar low; exit short: close above 10-bar high
exit | SL 2%, TP 4% => stop 2%; target 4%
exit | Trailing stop of 2 ATR
avoid | Never enter on Mondays before 10:00 UTC => no entry: on Mon and time 00:00-10:00 UTC
avoid | Never risk more than 1% per trade => risk 1% of equity to the stop
avoid | No trades between Friday 20:00 and Sunday 22:00
# With words that other readers knew before
entry | Buy when the close is no higher than the 20-bar low => long: close below 20-bar low
entry | Buy when price gained 3 percent in the last 12 hours => long: 3-bar change above 3%
entry | Trade long when the ADX is above 25 and the hourly regime is trend or shock =>
    long: ADX(14) above 25 and regime is trend or shock
entry | Buy limit the 55-bar high
entry | Maybe buy above the 20-bar high
exit | Close longs when RSI is over 75 and shorts when RSI is under 25 =>
    exit long: RSI(14) above 75; exit short: RSI(14) below 25
exit | Longs: stop at 2 %
avoid | No new positions after 8 pm => no entry: time 20:00-24:00 UTC
avoid | No trades on the day of FOMC => no entry: on the day of FOMC
avoid | Nothing on Fridays after 18:00 UTC => no entry: on Fri and time 18:00-24:00 UTC
avoid | No trade close to important news within an hour
avoid | No trade within 30 minutes of high importance events => no entry: within 30 min of any important event
risk | Never risk over 1 % of my capital per trade => risk 1% of equity to the stop
risk | No leverage above my ceiling
""")

UNSEEN = read_cases("""
# Entries
entry | Enter long on a close above the 100-bar high => long: close above 100-bar high
entry | Short if price closes under the 30-bar low => short: close below 30-bar low
entry | Buy the break of the 20-bar high, sell the break of the 20-bar low =>
    long: close above 20-bar high; short: close below 20-bar low
entry | Buy when the 10 EMA crosses over the 30 EMA => long: 10-bar EMA crosses above 30-bar EMA
entry | Sell when price crosses below the 50-bar average => short: close crosses below 50-bar mean
entry | Go long when RSI(2) drops below 10 and price is above the 200 SMA =>
    long: RSI(2) below 10 and close above 200-bar mean
entry | Long: price touches the lower Bollinger band and ADX(14) is under 20 =>
    long: close below 20-bar mean - 2 deviations and ADX(14) below 20
entry | Buy when price falls more than 5 % in 6 bars => long: 6-bar change below -5%
entry | Short when funding is over 0.05% per 8 hours and price made no new 6-bar high =>
    short: annual funding above 54.75% and close not above 6-bar high
entry | Buy when annualized funding is under -20 percent => long: annual funding below -20%
entry breakout | Close outside the 40-bar range => long: close above 40-bar high; short: close below 40-bar low
entry | Long when the close is in the bottom fifth of the 50-bar range =>
    long: close below 20% point of the 50-bar range
entry | Buy when the last bar closed up
entry | Only buy on Mondays, when price is over its 20-bar mean => long: on Mon and close above 20-bar mean
entry | Buy a 55-bar high in a trend regime => long: close above 55-bar high and regime is trend
entry | Long if the 1d close is above the 1d 20-bar mean and the close is above the 10-bar high =>
    long: 1d close above 1d 20-bar mean and close above 10-bar high
entry | Never trade. => never
entry | Enter when momentum looks strong
entry | Buy strong coins, sell weak ones
entry | Buy the first pullback after a 55-bar high
entry | Long when MACD crosses above its signal line
entry | Buy 5 minutes after the New York open if price is above VWAP
# Exits
exit | Exit longs on a close under the 20-bar mean => exit long: close below 20-bar mean
exit | Stop-loss at 1.5 ATR(20), target 4 % => stop 1.5 ATR(20); target 4%
exit | Take profit of 5% => target 5%
exit | Leave when RSI is above 70 for longs => exit long: RSI(14) above 70
exit | Out after 12 bars => exit after 12 bars
exit | Exit when the regime turns to chop => exit: regime is chop
exit | Price 2 % against the entry, or 48 hours in the trade => stop 2%; exit after 48 h
exit | On the opposite signal => exit on the opposite entry
exit | Hold for at most 3 days => exit after 72 h
exit range | When the price reaches the middle of the 48-bar range =>
    exit long: close above 50% point of the 48-bar range; exit short: close below 50% point of the 48-bar range
exit | Get out when it stops working
exit | Scale out in thirds
# Avoid
avoid | No trade in a trend or shock regime => no entry: regime is trend or shock
avoid | Avoid trading within 30 minutes of NFP => no entry: within 30 min of NFP
avoid | Do not buy when RSI is above 80 => no long: RSI(14) above 80
avoid | No shorts while funding is negative => no short: funding below 0%
avoid | No entries on Friday => no entry: on Fri
avoid | Never widen a stop => always kept
avoid | No averaging down => always kept
avoid | No trading between 22:00 and 06:00 UTC => no entry: time 22:00-06:00 UTC
avoid | No position over Monday's open
avoid | Never fight the Fed
avoid | Stay out when liquidity is thin
# Risk management
risk | Risk 1% of equity per trade => risk 1% of equity to the stop
risk | Stop at 3 % => stop 3%
risk | Move the stop to entry after one average range
risk | Smaller after two losses
""")
