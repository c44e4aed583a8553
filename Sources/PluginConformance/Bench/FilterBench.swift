import CarillonABI
import PluginHost

/// One filter under check, and what is known about it so far.
final class FilterBench: Bench<FilterFunctions> {
    /// What it said about regular events.
    var decisions: [(what: String, decision: FilterDecision)] = []
    /// Whether a verdict breaks the rules: that is reported once.
    var isFlawed = false

    /// Runs `body` on a new instance, and destroys it.
    func onNewInstance(
        _ placement: Arena.Placement = .plain,
        _ shape: StructShape = .current,
        _ body: (CheckedFilter) throws(CheckStop) -> Void
    ) throws(CheckStop) {
        let filter = try instance(placement, shape)
        try body(filter)
        filter.destroy()
        let log = filter.host.log
        if log.callsAfterDestroy > 0 {
            throw .failed("it called the host after destroy: nothing may be left running by then")
        }
        if log.lateSets > 0 { throw .failed("it called set after decide returned: only inside the call") }
    }
}
