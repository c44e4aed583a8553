import Logging
import Synchronization

/// Keeps log messages.
final class LogBook: Sendable {
    struct Line: Sendable {
        var level: Logger.Level
        var message: String
        var metadata: Logger.Metadata
    }

    private let kept = Mutex<[Line]>([])

    var lines: [Line] { kept.withLock(\.self) }

    /// The log messages of plugins.
    var said: [String] {
        lines.filter { $0.message == "The plugin logged a message" }.compactMap { $0.metadata["line"]?.description }
    }

    var logger: Logger {
        var logger = Logger(label: "test") { _ in Handler(book: self) }
        logger.logLevel = .debug
        return logger
    }

    private struct Handler: LogHandler {
        let book: LogBook
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.debug

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let all = metadata.merging(event.metadata ?? [:]) { $1 }
            book.kept.withLock {
                $0.append(Line(level: event.level, message: event.message.description, metadata: all))
            }
        }
    }
}
