import CommandTestSupport
import Core
import DeliveryTestSupport
import Glibc
import HTTPClient
import Push
import Synchronization
import TimeTestSupport

@testable import PluginHost

/// An instance of a compiled plugin and everything around it.
final class Bench: Sendable {
    let workshop: Workshop
    let host: PluginHost
    let log = LogBook()
    let clock = ManualClock()
    let http: any HTTPSender
    let instance: TransportInstance

    /// Compiles `source` with `flags` and creates an instance of its only platform.
    init(
        _ source: String,
        flags: [String],
        configuration: String = "{}",
        http: any HTTPSender = RecordingHTTP()
    ) throws {
        workshop = try Workshop()
        try workshop.compile(source, to: "plugin.so", flags)
        self.http = http
        host = workshop.load(log: log)
        if let refusal = host.catalog.refusals.first { throw refusal }
        var settings = InstanceSettings(
            sender: http,
            log: log.logger,
            deliveryTimeout: .minutes(1),
            now: clock.monotonic
        )
        settings.inboundURL = { "https://push.example.com/plugins/\($0)/\($1)" }
        instance = try host.makeTransport(
            platform: host.platforms.first ?? "none",
            app: "default",
            configuration: configuration,
            settings: settings
        )
    }

    convenience init(
        _ source: String,
        _ flags: String...,
        configuration: String = "{}",
        http: any HTTPSender = RecordingHTTP()
    ) throws {
        try self.init(source, flags: flags, configuration: configuration, http: http)
    }

    /// A fixture with the given behavior.
    convenience init(doing behaviour: String, http: any HTTPSender = RecordingHTTP()) throws {
        try self.init("behaviour.c", configuration: #"{"do":"\#(behaviour)"}"#, http: http)
    }

    /// Delivers and waits for the outcome.
    func outcome(
        of notification: Notification = .greeting,
        id: DeliveryID = Bench.id,
        to address: DeviceAddress = .somewhere
    ) async -> Outcome {
        let outcome = await instance.outcome(of: notification, id: id, to: address)
        settle()
        return outcome
    }

    /// Delivers; the returned object collects the outcomes. Unless the plugin ends it later, it has the first outcome.
    func deliver(endsLater: Bool = false) -> Outcomes {
        let outcomes = Outcomes()
        instance.deliver { outcomes.append($0) }
        if !endsLater { outcomes.awaitFirst() }
        settle()
        return outcomes
    }

    /// Once the plugin's process has answered a question, everything it sent before has been handled.
    private func settle() { try? instance.validate(.somewhere) }

    static let id: DeliveryID = "0b5e7c9e-93a4-4b1f-8a35-6d6a3a3ad8a5"
}

extension IsolationSettings {
    /// Patient with a busy machine, and without pauses after a death.
    static var forTests: IsolationSettings {
        var settings = IsolationSettings(program: BuiltFile.pluginHost)
        settings.pause = .zero
        settings.deadline = .seconds(30)
        settings.questionDeadline = .seconds(30)
        // A plugin that starts a thread per delivery has hundreds here, each with a stack of 1 MiB.
        settings.memory = .mebibytes(1024)
        return settings
    }
}

/// Waits until `condition` holds, up to 20 s; returns whether it does.
func eventually(_ condition: @Sendable () -> Bool) async -> Bool {
    for _ in 0..<4_000 {
        if condition() { return true }
        try? await Task.sleep(for: .milliseconds(5))
    }
    return condition()
}

/// Outcomes in order of arrival.
final class Outcomes: Sendable {
    private let kept = Mutex<[Outcome]>([])

    var all: [Outcome] { kept.withLock(\.self) }
    var reasons: [String] { all.map(\.reason) }

    /// Waits until there is one, up to 20 s.
    func awaitFirst() {
        for _ in 0..<20_000 where all.isEmpty { usleep(1_000) }
    }

    func append(_ outcome: Outcome) { kept.withLock { $0.append(outcome) } }
}

extension TransportInstance {
    /// Makes one attempt.
    func deliver(
        _ notification: Notification = .greeting,
        id: DeliveryID = Bench.id,
        to address: DeviceAddress = .somewhere,
        completion: @escaping @Sendable (Outcome) -> Void
    ) {
        let delivery = Delivery(
            id: id,
            device: DeviceID(rawValue: 1),
            platform: address.platform,
            app: address.app,
            notification: notification,
            acceptedAt: .epoch
        )
        deliver([DeliveryAttempt(delivery, to: address, completion: completion)])
    }

    /// The outcome of one attempt.
    func outcome(
        of notification: Notification = .greeting,
        id: DeliveryID = Bench.id,
        to address: DeviceAddress = .somewhere
    ) async -> Outcome {
        await withCheckedContinuation { continuation in
            deliver(notification, id: id, to: address) { continuation.resume(returning: $0) }
        }
    }
}

extension Notification {
    static let greeting = Notification(mode: .alert, signal: .dm, title: "Alice", body: "Hello")
}

extension DeviceAddress {
    static let somewhere = DeviceAddress(
        platform: "fixture",
        app: "default",
        token: "https://push.example.com/abc",
        registeredAt: 1_700_000_000_000
    )
}
