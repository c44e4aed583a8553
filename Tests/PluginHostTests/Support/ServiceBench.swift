import Core
import HTTPClient
import Push
import Synchronization

@testable import PluginHost

/// Instances of the plugin `services.c`, which uses timers and state. Its clock is the real one, as in a process.
final class ServiceBench: Sendable {
    private let workshop: Workshop
    let store: MemoryStore
    let states: PluginStates
    let host: PluginHost
    let log = LogBook()

    init(_ store: MemoryStore = MemoryStore(), isolation: IsolationSettings = .forTests) throws {
        self.store = store
        states = PluginStates(store)
        workshop = try Workshop()
        try workshop.compile("services.c", to: "plugin.so")
        host = workshop.load(isolation: isolation, log: log)
        if let refusal = host.catalog.refusals.first { throw refusal }
    }

    var settings: InstanceSettings { InstanceSettings(sender: RecordingHTTP(), log: log.logger, states: states) }

    func make(_ behaviour: String, app: String = "default") throws -> TransportInstance {
        try host.makeTransport(
            platform: "fixture",
            app: app,
            configuration: #"{"do":"\#(behaviour)"}"#,
            settings: settings
        )
    }

    /// Makes an instance and runs `behaviour`; returns the outcome's reason.
    func reason(_ behaviour: String) async throws -> String { await reason(try make(behaviour)) }

    func reason(_ instance: TransportInstance, _ notification: Notification = .greeting) async -> String {
        let outcome = await instance.outcome(of: notification)
        // By then, earlier messages of the process are in the log.
        try? instance.validate(.somewhere)
        return outcome.reason
    }

    func set(_ key: String, _ value: String, in instance: TransportInstance) async -> String {
        await reason(instance, Notification(mode: .alert, signal: .dm, title: key, body: value))
    }

    func value(of key: String, in instance: TransportInstance) async -> String? {
        _ = await reason(instance, Notification(mode: .alert, signal: .dm, title: key, subtitle: "get", body: ""))
        return log.said.last
    }
}

/// The plugins' state, kept while the test runs.
final class MemoryStore: PluginStateStore {
    private struct State {
        var values: [String: [String: String]] = [:]
        var saves = 0
        var released: [String] = []
    }

    private let state = Mutex(State())

    /// By owner and key.
    var values: [String: [String: String]] { state.withLock(\.values) }
    var saves: Int { state.withLock(\.saves) }
    var released: [String] { state.withLock(\.released) }

    func load(_ owner: StateOwner) -> [StateEntry] {
        (values[owner.name] ?? [:]).map { StateEntry(key: Array($0.key.utf8), value: Array($0.value.utf8)) }
    }

    func save(_ entry: StateEntry, of owner: StateOwner) {
        let (key, value) = (String(decoding: entry.key, as: UTF8.self), String(decoding: entry.value, as: UTF8.self))
        state.withLock { state in
            state.values[owner.name, default: [:]][key] = value.isEmpty ? nil : value
            state.saves += 1
        }
    }

    func release(_ owner: StateOwner) { state.withLock { $0.released.append(owner.name) } }
}
