import Core
import Logging
import Storage

/// Which levels the log has at this moment.
package struct LogReport: OperatorAnswer, Equatable {
    package struct Component: Codable, Sendable, Equatable {
        /// `all`, or a component's name.
        package var component: String
        package var level: String
        /// Seconds until it ends; nil: a reload or a restart ends it.
        package var endsIn: Int64?
    }

    /// Of what nobody set.
    package var level: String
    package var set: [Component]
    /// All that can be set.
    package var components: [String]

    package var text: String {
        var lines = ["level \(level) for all that is not set otherwise"]
        for setting in set {
            let end = setting.endsIn.map { "for \(RouterStatus.span($0)) more" } ?? "until a reload or a restart"
            lines.append("\(setting.component.padded(to: 20))\(setting.level.padded(to: 10))\(end)")
        }
        return (lines + ["components: \(components.joined(separator: ", "))"]).joined(separator: "\n")
    }
}

/// Shows and sets the log's levels in a running router.
package struct LogOperations: Sendable {
    private let levels: LogLevels
    private let now: @Sendable () -> Deadline

    package init(levels: LogLevels, now: @escaping @Sendable () -> Deadline = Deadline.now) {
        self.levels = levels
        self.now = now
    }

    package var report: LogReport {
        let now = now()
        return LogReport(
            level: levels.usual.rawValue,
            set: levels.settings.map { setting in
                LogReport.Component(
                    component: setting.component ?? "all",
                    level: setting.level.rawValue,
                    endsIn: setting.until.map { max(0, ($0 - now).seconds) }
                )
            },
            components: LogComponents.all
        )
    }

    /// `component` is a component's name or `all`, `level` a level or `default`. Throws an ``OperationFailure``.
    package func set(_ component: String, _ level: String, for span: Duration?) throws(OperationFailure) -> LogReport {
        var name: String?
        if component != "all" {
            name = LogComponents.named(component)
            guard name != nil else {
                throw .unknown(
                    "there is no component '\(component)'; expected all or one of "
                        + LogComponents.all.joined(separator: ", ")
                )
            }
        }
        if level == "default" {
            levels.reset(name)
            return report
        }
        guard let level = Logger.Level(rawValue: level) else {
            throw .invalid("level: expected default, \(Logger.Level.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        levels.set(LogLevels.Setting(component: name, level: level, until: span.map { now() + $0 }))
        return report
    }

    /// The same from the parameters of a request.
    func set(_ parameters: [String: String]) throws(OperationFailure) -> LogReport {
        guard let component = parameters["component"], let level = parameters["level"] else {
            throw .invalid("expected component= and level=")
        }
        var span: Duration?
        if let text = parameters["seconds"] {
            guard let seconds = Int64(text), (1...315_360_000).contains(seconds) else {
                throw .invalid("seconds: expected a number of seconds")
            }
            span = .seconds(seconds)
        }
        return try set(component, level, for: span)
    }
}
