from trading.models.deployments import (
    AT_ONCE,
    UNFINISHED,
    BacktestRun,
    BrokerKind,
    CommandKind,
    DecisionSnapshot,
    Deployment,
    DeploymentCommand,
    DeploymentStatus,
    EquityPoint,
    ExcursionFrom,
    Order,
    OrderOrigin,
    OrderSide,
    OrderState,
    SystemPrompt,
    Verdict,
    WorkStatus,
)
from trading.models.entries import EntrySource, Fill, FundingPayment, ImportBatch, PositionCheck
from trading.models.filters import SavedFilter
from trading.models.market import Bar, FundingRate, MarketEvent, NewsItem
from trading.models.remarks import TradeRemark
from trading.models.rules import RuleState, TradingRule, TradingRuleQuerySet
from trading.models.skills import DraftStatus, Skill, SkillDraft, SkillVersion, TradingStyle
from trading.models.staff import StaffEntry
from trading.models.tokens import ApiToken, TokenArea, TokenScope
from trading.models.trades import (
    ExitKind,
    NoteStatus,
    ReconcileState,
    ReflectionNote,
    ReflectionRun,
    RegimeTag,
    Trade,
    TradeQuerySet,
    TradeSide,
    TradeStatus,
)
from trading.models.users import ExperienceTier, Trader
from trading.models.venues import TradeFile, VenueAccount

__all__ = ["AT_ONCE", "UNFINISHED", "BacktestRun", "BrokerKind", "CommandKind", "DecisionSnapshot", "Deployment"]
__all__ += ["DeploymentCommand", "DeploymentStatus", "EquityPoint", "ExcursionFrom", "Order", "OrderOrigin"]
__all__ += ["OrderSide", "OrderState", "SystemPrompt", "Verdict", "WorkStatus"]
__all__ += ["EntrySource", "Fill", "FundingPayment", "ImportBatch", "PositionCheck"]
__all__ += ["Bar", "FundingRate", "MarketEvent", "NewsItem"]
__all__ += ["DraftStatus", "Skill", "SkillDraft", "SkillVersion", "TradingStyle"]
__all__ += ["ApiToken", "StaffEntry", "TokenArea", "TokenScope"]
__all__ += ["ExitKind", "NoteStatus", "ReconcileState", "ReflectionNote", "ReflectionRun", "RegimeTag"]
__all__ += ["Trade", "TradeQuerySet", "TradeSide", "TradeStatus"]
__all__ += ["RuleState", "TradingRule", "TradingRuleQuerySet"]
__all__ += ["SavedFilter", "TradeRemark"]
__all__ += ["ExperienceTier", "Trader"]
__all__ += ["TradeFile", "VenueAccount"]
