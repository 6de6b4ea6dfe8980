"""What the terms of a skill mean, a line for each value."""

from collections.abc import Mapping
from typing import Final

from trading.models import RegimeTag

EXPLAINED: Final[Mapping[str, Mapping[str, str]]] = {
    "strategy.mode": {
        "thesis": "you write why there should be money in it, and the agent judges each moment by that",
        "rules": "you write when to enter and when to exit, and the agent checks each moment against the lines",
    },
    "strategy.leash": {
        "tight": "it does what the lines say and nothing else; in doubt it waits",
        "standard": "it reads the lines sensibly, as a careful colleague would",
        "loose": "it may act on what the lines suggest, within the limits of risk",
    },
}
REGIMES: Final[Mapping[str, str]] = {
    RegimeTag.TREND: "prices of the last days moved one way",
    RegimeTag.CHOP: "prices went back and forth without getting far",
    RegimeTag.SHOCK: "one of the last three hours moved far more than usual, or the day was twice as restless",
    RegimeTag.UNKNOWN: "too few hourly bars to tell",
}
