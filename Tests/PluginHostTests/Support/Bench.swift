import DeliveryTestSupport
import HTTPLanes
import Notifications
import PluginHost
import TimeTestSupport
import Units

/// An instance of a compiled plugin and everything around it.
final class Bench: Sendable {
    let workshop: Workshop
    private let place = Place.current
    let host: PluginHost
    let log = LogBook()
    let clock = ManualClock()
    let http: any HTTPSender
    let instance: TransportInstance

    /// Compiles `source` with `flags` and makes an instance of the one platform it serves.
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
        instance = try host.makeTransport(
            platform: host.platforms.first ?? "none",
            app: "default",
            configuration: configuration,
            settings: InstanceSettings(
                sender: http,
                log: log.logger,
                deliveryTimeout: .minutes(1),
                now: clock.monotonic,
                inboundURL: { "https://push.example.com/plugins/\($0)/\($1)" }
            )
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

    /// The fixture that behaves as told.
    convenience init(doing behaviour: String, http: any HTTPSender = RecordingHTTP()) throws {
        try self.init("behaviour.c", configuration: #"{"do":"\#(behaviour)"}"#, http: http)
    }

    /// Delivers and waits for the outcome.
    func outcome(
        of notification: Notification = .greeting,
        id: DeliveryID = Bench.id,
        to address: DeviceAddress = .somewhere
    ) async -> Outcome {
        let outcome = await withCheckedContinuation { continuation in
            instance.deliver(notification, id: id, to: address) { continuation.resume(returning: $0) }
        }
        settle()
        return outcome
    }

    /// Delivers; the outcomes collect in what is returned. Unless the plugin ends it later, the first is there.
    func deliver(endsLater: Bool = false) -> Outcomes {
        let outcomes = Outcomes()
        instance.deliver(.greeting, id: Self.id, to: .somewhere) { outcomes.append($0) }
        if place == .processes, !endsLater { outcomes.awaitFirst() }
        settle()
        return outcomes
    }

    /// What the plugin's process has sent so far is handled once it has answered a question.
    private func settle() {
        if place == .processes { try? instance.validate(.somewhere) }
    }

    static let id: DeliveryID = "0b5e7c9e-93a4-4b1f-8a35-6d6a3a3ad8a5"
}
