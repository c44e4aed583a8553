import Logging
import NIOConcurrencyHelpers

/// Keeps log messages of level warning or above.
final class LinesOfLog: Sendable {
    private struct Handler: LogHandler {
        let log: LinesOfLog
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.warning

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let fields = (event.metadata ?? [:]).map { "\($0.key)=\($0.value)" }.sorted()
            log.kept.withLockedValue { $0.append((["\(event.message)"] + fields).joined(separator: " ")) }
        }
    }

    private let kept = NIOLockedValueBox<[String]>([])

    var logger: Logger { Logger(label: "test") { _ in Handler(log: self) } }

    var lines: [String] { kept.withLockedValue { $0 } }
}
