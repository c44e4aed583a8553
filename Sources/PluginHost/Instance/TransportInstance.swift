import CarillonABI
import HTTPLanes
import Logging
import Notifications

/// A plugin's transport with one app's configuration.
///
/// Whoever makes one calls ``expireDeadlines()`` regularly, and ``drain(deadline:)`` before letting go of it; ``PluginHost``
/// does both.
package final class TransportInstance: NotificationTransport {
    package let platform: String
    package let app: String
    let functions: TransportFunctions
    private let instance: PluginInstance
    let door: HostDoor
    private let timeout: Int64

    /// Asks the plugin for an instance; blocks for as long as that takes.
    init(
        _ blueprint: TransportBlueprint,
        app: String,
        configuration: String,
        settings: InstanceSettings
    ) throws(PluginError) {
        platform = blueprint.functions.platform
        functions = blueprint.functions
        self.app = app
        timeout = settings.deliveryTimeout
        var log = settings.log
        log[metadataKey: "plugin"] = "\(blueprint.pluginID)"
        log[metadataKey: "platform"] = "\(platform)"
        log[metadataKey: "app"] = "\(app)"
        let door = HostDoor(sender: settings.sender.share(), log: log, now: settings.now)
        self.door = door

        let platform = platform
        instance = try PluginInstance(
            of: blueprint.library,
            create: functions.create,
            destroy: functions.destroy,
            door: door,
            configuration: configuration
        ) { .refusedConfiguration(platform, saying: $0) }
    }

    var handle: PluginInstance.Handle { instance.handle }

    func now() -> Int64 { door.now() }

    /// How the plugin kept to the rules so far.
    package var statistics: TransportStatistics { door.statistics }

    /// The HTTP requests it made so far.
    package var requests: RequestCounts { door.change { $0.requests } }

    /// Whether it has nothing in work at this moment.
    package var isIdle: Bool { door.change { $0.isIdle } }

    /// Throws what the plugin finds wrong with a registration. Everything is right for a plugin that does not check.
    package func validate(_ address: DeviceAddress) throws(PluginError) {
        guard let validate = functions.validate, door.change({ $0.enter() }) else { return }
        defer { door.change { $0.leave() } }
        let (status, said) = address.lend { registration in
            ErrorRoom.lend { validate(handle.pointer, registration, $0) }
        }
        guard status == .CARILLON_OK else { throw .refusedRegistration(platform, saying: said) }
    }

    package func deliver(
        _ notification: Notification,
        id: String,
        to address: DeviceAddress,
        completion: @escaping @Sendable (Outcome) -> Void
    ) {
        // Left to the transport to encrypt when the device was with one that does, and not for the eyes of this one.
        guard notification.mode != .sealed || !notification.sealed.isEmpty || functions.encrypts else {
            return completion(Outcome(refusal: .CARILLON_UNSUPPORTED))
        }
        let deadline = door.now() + timeout
        switch door.change({ $0.admit(completion, deadline: deadline) }) {
        case .refused(let completion, let reason): completion(Outcome(.retry, reason: reason))
        case .admitted(let ticket):
            let status = notification.lend(id: id, to: address) { registration, notification in
                functions.deliver(handle.pointer, ticket, registration, notification)
            }
            if status != .CARILLON_OK, let completion = door.change({ $0.withdraw(ticket) }) {
                completion(Outcome(refusal: status))
            }
            door.change { $0.leave() }
        }
    }

    /// Ends deliveries whose deadline has passed as retries, and asks the plugin to cancel them, and those of commands.
    /// To be called often enough
    /// for the deadlines to mean something, such as four times a second.
    package func expireDeadlines() {
        let now = door.now()
        door.expireCommands(now: now)
        let expired = door.change { $0.expire(now: now) }
        guard !expired.isEmpty else { return }
        for (ticket, completion) in expired {
            completion(Outcome(.retry, reason: "deadline"))
            functions.cancel?(handle.pointer, ticket)
        }
        door.change { $0.leave() }
    }

    /// Accepts nothing more, cancels what is outstanding, waits for it until `deadline` (milliseconds of the clock given at
    /// the start), and destroys the plugin's instance.
    ///
    /// False when the plugin would not finish: its instance is then left alone for ever, for destroying it under its feet
    /// could take the router along. Something must go on calling ``expireDeadlines()`` meanwhile.
    package func drain(deadline: Int64) async -> Bool {
        await instance.drain { [door, functions, handle] in
            let outstanding = door.change { $0.drain(deadline: deadline) }
            for ticket in outstanding { functions.cancel?(handle.pointer, ticket) }
            door.change { $0.leave() }
        }
    }
}

extension Outcome {
    /// The outcome of a delivery that a plugin would not accept.
    fileprivate init(refusal status: carillon_status) {
        switch status {
        case .CARILLON_INVALID: self.init(.rejected, reason: "invalid")
        case .CARILLON_UNSUPPORTED: self.init(.rejected, reason: "unsupported")
        case .CARILLON_BUSY: self.init(.retry, reason: "busy")
        default: self.init(.retry, reason: "failed")
        }
    }
}
