import Core
import Logging
import Storage

/// The current log levels.
package struct LogReport: OperatorAnswer, Equatable {
    package struct Component: Codable, Sendable, Equatable {
        /// `all`, or a component's name.
        package var component: String
        package var level: String
        /// Seconds until the setting ends; nil: it lasts until a reload or a restart.
        package var endsIn: Int64?
    }

    /// The level of components without a setting.
    package var level: String
    package var set: [Component]
    /// All components.
    package var components: [String]

    package var text: String {
        var lines = ["level \(level) unless set otherwise"]
        for setting in set {
            let end = setting.endsIn.map { "for \(RouterStatus.span($0)) more" } ?? "until a reload or a restart"
            lines.append("\(setting.component.padded(to: 20))\(setting.level.padded(to: 10))\(end)")
        }
        return (lines + ["components: \(components.joined(separator: ", "))"]).joined(separator: "\n")
    }
}

/// Shows and sets the log levels of a running router.
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

    /// Sets the level of `component` (a name or `all`) to `level` (or `default`). Throws an ``OperationError``.
    package func set(_ component: String, _ level: String, for span: Duration?) throws(OperationError) -> LogReport {
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

    /// Sets a level from the parameters of a request.
    func set(_ parameters: [String: String]) throws(OperationError) -> LogReport {
        guard let component = parameters["component"], let level = parameters["level"] else {
            throw .invalid("expected component= and level=")
        }
        return try set(component, level, for: OperatorWords.seconds(parameters))
    }
}
