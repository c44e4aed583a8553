import AccountWatch
import Pipeline

extension AccountWatch: HintObserver {}
