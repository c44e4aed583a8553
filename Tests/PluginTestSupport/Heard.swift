internal import PluginKit
import Synchronization

/// Keeps the values that a plugin or its host reports, in order.
package final class Heard<Value: Sendable>: Sendable {
    private let kept = Mutex<[Value]>([])

    package init() {}

    package var all: [Value] { kept.withLock(\.self) }

    package func add(_ value: Value) { kept.withLock { $0.append(value) } }
}

extension Heard<CommandAnswer> {
    package var texts: [String] { all.map(\.text) }
    /// Whether each call succeeded.
    package var decisions: [Bool] { all.map(\.isGood) }
}
