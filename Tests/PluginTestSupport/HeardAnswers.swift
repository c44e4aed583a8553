package import PluginKit
import Synchronization

/// Keeps what transports answer to operators' commands, in the order of the answers.
package final class HeardAnswers: Sendable {
    private let answers = Mutex<[CommandAnswer]>([])

    package init() {}

    package var texts: [String] { answers.withLock { $0.map(\.text) } }
    /// Whether each did what was asked for.
    package var verdicts: [Bool] { answers.withLock { $0.map(\.isGood) } }

    package func add(_ answer: CommandAnswer) { answers.withLock { $0.append(answer) } }
}
