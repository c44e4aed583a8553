import Logs
import RouterConfiguration

/// The log of this process, as far as a running router changes it.
package struct RunningLog: Sendable {
    let levels: LogLevels
    /// Puts in force what a configuration says.
    let apply: @Sendable (Configuration.Log) -> Void

    /// By default nothing leads anywhere.
    package init(levels: LogLevels = LogLevels(), apply: @escaping @Sendable (Configuration.Log) -> Void = { _ in }) {
        self.levels = levels
        self.apply = apply
    }
}
