internal import PluginKit
import Synchronization

/// Keeps what a plugin or its host says, in order.
package final class Heard<Value: Sendable>: Sendable {
    private let kept = Mutex<[Value]>([])

    package init() {}

    package var all: [Value] { kept.withLock(\.self) }

    package func add(_ value: Value) { kept.withLock { $0.append(value) } }
}

extension Heard<CommandAnswer> {
    package var texts: [String] { all.map(\.text) }
    /// Whether each did what was asked for.
    package var verdicts: [Bool] { all.map(\.isGood) }
}
