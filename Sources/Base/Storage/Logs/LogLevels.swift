import Core
import Logging
import Synchronization

/// The log level of each component. A component is a module of the router, by its name. Callable from any thread; a
/// message below all levels costs one atomic read.
package final class LogLevels: Sendable {
    /// A level that an operator set at runtime.
    package struct Setting: Sendable, Equatable {
        /// Nil: all components.
        package var component: String?
        package var level: Logger.Level
        /// Nil: until a reload or a restart.
        package var until: Deadline?

        package init(component: String?, level: Logger.Level, until: Deadline? = nil) {
            self.component = component
            self.level = level
            self.until = until
        }
    }

    private struct State {
        var usual: Logger.Level
        /// Settings by component; the one for all components is under nil.
        var settings: [String?: Setting] = [:]

        func level(of component: String) -> Logger.Level {
            (settings[component] ?? settings[nil])?.level ?? usual
        }

        var lowest: Logger.Level { settings.values.map(\.level).reduce(settings[nil]?.level ?? usual, min) }

        /// Removes expired settings. Returns whether there were any.
        mutating func drop(endedBy now: Deadline) -> Bool {
            let ended = settings.filter { $0.value.until.map { $0 <= now } ?? false }
            for component in ended.keys { settings[component] = nil }
            return !ended.isEmpty
        }
    }

    private let state: Mutex<State>
    /// The index of the lowest level in ``Logger/Level/allCases``.
    private let threshold: Atomic<Int>
    private let hasSettings = Atomic(false)
    private let now: @Sendable () -> Deadline

    /// `usual` applies to components without a setting.
    package init(usual: Logger.Level = .info, now: @escaping @Sendable () -> Deadline = Deadline.now) {
        self.now = now
        state = Mutex(State(usual: usual))
        threshold = Atomic(usual.place)
    }

    /// The lowest level that any component logs.
    package var lowest: Logger.Level { Logger.Level.allCases[threshold.load(ordering: .relaxed)] }

    package var usual: Logger.Level { state.withLock { $0.usual } }

    /// The current settings, the one for all components first.
    package var settings: [Setting] {
        change { state in
            state.settings.values.sorted { ($0.component ?? "") < ($1.component ?? "") }
        }
    }

    package func isLogged(_ level: Logger.Level, by component: String) -> Bool {
        guard hasSettings.load(ordering: .relaxed) else { return level >= lowest }
        let now = now()
        return state.withLock { state in
            if state.drop(endedBy: now) { publish(state) }
            return level >= state.level(of: component)
        }
    }

    /// Sets the level for components without a setting.
    package func setUsual(_ level: Logger.Level) { change { $0.usual = level } }

    package func set(_ setting: Setting) { change { $0.settings[setting.component] = setting } }

    /// Removes the setting of a component, or the one for all (nil).
    package func reset(_ component: String?) { change { $0.settings[component] = nil } }

    /// Removes all settings.
    package func reset() { change { $0.settings = [:] } }

    @discardableResult
    private func change<Value: Sendable>(_ body: (inout State) -> Value) -> Value {
        let now = now()
        return state.withLock { state in
            _ = state.drop(endedBy: now)
            defer { publish(state) }
            return body(&state)
        }
    }

    /// Call this under the lock.
    private func publish(_ state: State) {
        threshold.store(state.lowest.place, ordering: .relaxed)
        hasSettings.store(!state.settings.isEmpty, ordering: .relaxed)
    }
}

extension Logger.Level {
    fileprivate var place: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}

/// The components whose level can be set: modules that log.
package enum LogComponents {
    package static let all = [
        "CarillonCLI", "CarillonRouter", "Cluster", "Console", "Delivery", "HTTPClient", "Listeners", "Observability",
        "Operations", "Pipeline", "PluginHost", "RelayServer", "Relays", "RouterConfiguration", "Storage", "WebIngress",
    ]

    /// Returns the component's name in its usual spelling; nil if there is no such component.
    package static func named(_ text: String) -> String? { all.first { $0.lowercased() == text.lowercased() } }
}
