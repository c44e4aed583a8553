import Core
import Logging
import Synchronization

/// From which level on each component is logged. A component is a module of ours, by its name. Callable from any
/// thread; what is below every level costs one atomic read.
package final class LogLevels: Sendable {
    /// A level that an operator set while the router runs.
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
        /// The one of all components among them, under nil.
        var settings: [String?: Setting] = [:]

        func level(of component: String) -> Logger.Level {
            (settings[component] ?? settings[nil])?.level ?? usual
        }

        var lowest: Logger.Level { settings.values.map(\.level).reduce(settings[nil]?.level ?? usual, min) }

        /// Returns whether any ended.
        mutating func drop(endedBy now: Deadline) -> Bool {
            let ended = settings.filter { $0.value.until.map { $0 <= now } ?? false }
            for component in ended.keys { settings[component] = nil }
            return !ended.isEmpty
        }
    }

    private let state: Mutex<State>
    /// The place of the lowest level of all in ``Logger/Level/allCases``.
    private let threshold: Atomic<Int>
    private let hasSettings = Atomic(false)
    private let now: @Sendable () -> Deadline

    /// `usual` holds for what nobody set.
    package init(usual: Logger.Level = .info, now: @escaping @Sendable () -> Deadline = Deadline.now) {
        self.now = now
        state = Mutex(State(usual: usual))
        threshold = Atomic(usual.place)
    }

    /// What a logger need not even ask about.
    package var lowest: Logger.Level { Logger.Level.allCases[threshold.load(ordering: .relaxed)] }

    package var usual: Logger.Level { state.withLock { $0.usual } }

    /// What is set at this moment, all components first.
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

    /// What holds for what nobody sets, from now on.
    package func setUsual(_ level: Logger.Level) { change { $0.usual = level } }

    package func set(_ setting: Setting) { change { $0.settings[setting.component] = setting } }

    /// Takes back what was set for a component, or for all (nil).
    package func reset(_ component: String?) { change { $0.settings[component] = nil } }

    /// Takes back everything that was set.
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

    /// Under the lock.
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

    /// As we spell it; nil: there is none of that name.
    package static func named(_ text: String) -> String? { all.first { $0.lowercased() == text.lowercased() } }
}
