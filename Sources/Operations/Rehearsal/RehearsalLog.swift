import Logging
import Synchronization

/// Keeps what the router would log about a plugin, and what the plugin's process writes.
final class RehearsalLog: Sendable {
    private static let limit = 200

    private let lines = Mutex<[String]>([])

    var logger: Logger {
        var logger = Logger(label: "carillon.rehearsal") { _ in Handler(log: self) }
        logger.logLevel = .debug
        return logger
    }

    /// What has come since the last time.
    func take() -> [String] {
        lines.withLock { lines in
            defer { lines = [] }
            return lines
        }
    }

    private func add(_ line: String) {
        lines.withLock { if $0.count < Self.limit { $0.append(line) } }
    }

    private struct Handler: LogHandler {
        let log: RehearsalLog
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.debug

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            // What `plugin dev` shows itself.
            guard event.level > .debug || event.metadata?["line"] != nil, event.message != "Loaded a plugin",
                event.message != "Refused a plugin"
            else { return }
            if let line = event.metadata?["line"] { return log.add("\(line)") }
            let details = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            log.add(([event.message.description] + details).joined(separator: " "))
        }
    }
}
