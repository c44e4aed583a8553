import CarillonABI
import HTTPLanes
import Logging
import Notifications
import Units

/// A plugin's transport with one app's configuration.
///
/// Whoever makes one calls ``expireDeadlines()`` regularly, and ``drain(deadline:)`` before letting go of it;
/// ``PluginHost`` does both.
package final class TransportInstance: DrainableInstance {
    package let platform: String
    package let app: String
    private let functions: TransportFunctions
    private let instance: PluginInstance
    private let bridge: PluginBridge
    private let timeout: Duration
    private let lending = RepeatedLending()

    /// Asks the plugin for an instance; blocks for as long as that takes, and reading the files that its configuration
    /// names.
    init(
        _ blueprint: TransportBlueprint,
        app: String,
        configuration: String,
        settings: InstanceSettings
    ) throws(PluginError) {
        let whole: String
        do throws(ConfigurationFileError) {
            whole = try ConfigurationFiles(blueprint.functions.description).adding(to: configuration)
        } catch {
            throw .refusedConfiguration(blueprint.functions.platform, saying: error.description)
        }
        platform = blueprint.functions.platform
        functions = blueprint.functions
        self.app = app
        timeout = settings.deliveryTimeout
        var log = settings.log
        log[metadataKey: "plugin"] = "\(blueprint.pluginID)"
        log[metadataKey: "platform"] = "\(platform)"
        log[metadataKey: "app"] = "\(app)"
        let platform = platform
        let bridge = PluginBridge(
            .transport(platform: platform, app: app),
            settings,
            inboundURL: functions.receive == nil ? nil : settings.inboundURL(platform, app),
            log: log
        )
        self.bridge = bridge

        instance = try PluginInstance(
            setup: blueprint.setup,
            create: functions.create,
            destroy: functions.destroy,
            bridge: bridge,
            configuration: whole
        ) { .refusedConfiguration(platform, saying: $0) }
    }

    private var handle: PluginHandle { instance.handle }

    package func now() -> Deadline { bridge.now() }

    /// How the plugin kept to the rules so far.
    package var statistics: TransportStatistics { bridge.statistics }

    /// The HTTP requests it made so far.
    package var requests: RequestCounts { bridge.change { $0.requests } }

    /// The streams it opened so far.
    package var streams: StreamCounts { bridge.change { $0.streams } }

    /// Whether it has nothing in work at this moment. Streams may be open.
    package var isIdle: Bool { bridge.change { $0.isIdle } }

    /// Throws what the plugin finds wrong with a registration. A plugin without validate accepts everything.
    package func validate(_ address: DeviceAddress) throws(PluginError) {
        guard let validate = functions.validate, bridge.change({ $0.enter() }) else { return }
        defer { bridge.change { $0.leave() } }
        let (status, said) = address.lend { registration in
            ErrorBuffer.lend { validate(handle.pointer, registration, $0) }
        }
        switch status {
        case .CARILLON_OK: return
        case .CARILLON_BUSY, .CARILLON_FAILED: throw .uncheckedRegistration(platform, saying: said)
        default: throw .refusedRegistration(platform, saying: said)
        }
    }

    /// Attempts to deliver `notification` under the message id `id`, the same on every attempt, and calls `completion`
    /// exactly once, on any thread, perhaps before this returns.
    package func deliver(
        _ notification: Notification,
        id: DeliveryID,
        to address: DeviceAddress,
        completion: @escaping @Sendable (Outcome) -> Void
    ) {
        guard mayShow(notification) else { return completion(Outcome(refusal: .CARILLON_UNSUPPORTED)) }
        guard !isSetAside(id) else { return completion(Outcome(.rejected, reason: "plugin-crashed")) }
        let deadline = bridge.now() + timeout
        switch bridge.change({ $0.admit(completion, deadline: deadline) }) {
        case .refused(let completion, let reason): completion(Outcome(.retry, reason: reason))
        case .admitted(let ticket):
            let status = lending.lend(notification, id: id, to: address) { registration, notification in
                functions.deliver(handle.pointer, ticket, registration, notification)
            }
            if status != .CARILLON_OK, let completion = bridge.change({ $0.withdraw(ticket) }) {
                completion(Outcome(refusal: status))
            }
            bridge.change { $0.leave() }
        }
    }

    /// Whether ``deliver(_:)`` may hand several to the plugin at once.
    package var takesMany: Bool { functions.deliverMany != nil }

    /// The same for several, of which the plugin gets as many at once as it takes.
    package func deliver(_ orders: [DeliveryOrder]) {
        guard let deliverMany = functions.deliverMany else { return orders.forEach(deliver) }
        var together: [DeliveryOrder] = []
        for order in orders {
            if mayShow(order.notification), !isSetAside(order.id) { together.append(order) } else { deliver(order) }
        }
        for batch in DeliveryBatches.divide(
            together,
            limit: functions.manyLimit,
            perToken: functions.manyPerToken
        ) {
            if batch.count == 1 { deliver(batch[0]) } else { deliver(batch, by: deliverMany) }
        }
    }

    /// Whether a delivery must be kept from the plugin.
    private func isSetAside(_ id: DeliveryID) -> Bool { functions.isSetAside?(id) ?? false }

    private func deliver(_ order: DeliveryOrder) {
        deliver(order.notification, id: order.id, to: order.address, completion: order.completion)
    }

    private func deliver(_ orders: [DeliveryOrder], by deliverMany: TransportFunctions.DeliverMany) {
        let deadline = bridge.now() + timeout
        var admitted: [DeliveryOrder] = []
        var tickets: [UInt64] = []
        for order in orders {
            switch bridge.change({ $0.admit(order.completion, deadline: deadline) }) {
            case .refused(let completion, let reason): completion(Outcome(.retry, reason: reason))
            case .admitted(let ticket):
                admitted.append(order)
                tickets.append(ticket)
            }
        }
        let together =
            admitted.count < 2
            ? .CARILLON_UNSUPPORTED
            : admitted.lend(tickets) { deliverMany(handle.pointer, $0, $1) }
        for (ticket, order) in zip(tickets, admitted) where together != .CARILLON_OK {
            var status = together
            if together == .CARILLON_UNSUPPORTED {
                status = order.notification.lend(id: order.id, to: order.address) { registration, notification in
                    functions.deliver(handle.pointer, ticket, registration, notification)
                }
            }
            if status != .CARILLON_OK, let completion = bridge.change({ $0.withdraw(ticket) }) {
                completion(Outcome(refusal: status))
            }
        }
        for _ in tickets { bridge.change { $0.leave() } }
    }

    /// Ends deliveries whose deadline has passed as retries and asks the plugin to cancel them; ends commands likewise.
    package func expireDeadlines() {
        let now = bridge.now()
        bridge.commands.expire(of: bridge, now: now)
        bridge.inbound.expire(of: bridge, now: now)
        let expired = bridge.change { $0.expire(now: now) }
        guard !expired.isEmpty else { return }
        for (ticket, completion) in expired {
            completion(Outcome(.retry, reason: "deadline"))
            functions.cancel?(handle.pointer, ticket)
        }
        bridge.change { $0.leave() }
    }

    package func drain(deadline: Deadline) async -> Bool {
        await instance.drain { [bridge, functions, handle] in
            let outstanding = bridge.change { $0.drain(deadline: deadline) }
            for ticket in outstanding { functions.cancel?(handle.pointer, ticket) }
            bridge.change { $0.leave() }
        }
    }

    /// Runs an operator's command for the push service; returns the plugin's answer, for people or a program.
    ///
    /// - Throws: What the plugin says is wrong, or that there is no such command, or no answer within `span`.
    package func command(
        _ words: [String],
        within span: Duration = .minutes(1)
    ) async throws(PluginError) -> String {
        // `help` is for all, also where a plugin has nothing to list.
        let isHelp = words == ["help"]
        let unknown = Self.words(for: .CARILLON_UNSUPPORTED)
        let nothing = "the plugin of \(platform) has no commands"
        guard let command = functions.command else {
            if isHelp { return nothing }
            throw .refusedCommand(platform, saying: "it takes none")
        }
        let deadline = now() + span
        let end = await withCheckedContinuation { (waiter: PluginCommands.Waiter) in
            guard let context = bridge.commands.open(waiter, of: bridge, deadline: deadline) else { return }
            let status = words.lend { command(handle.pointer, $0, words.count, hostCommandDone, context.pointer) }
            if status != .CARILLON_OK { bridge.commands.end(context.number, of: bridge, .refused(status)) }
            bridge.change { $0.leave() }
        }
        switch end {
        case .answered(let text): return text
        case .refused(.CARILLON_UNSUPPORTED) where isHelp: return nothing
        case .failed(let text) where isHelp && text == unknown: return nothing
        case .failed(let text): throw .failedCommand(platform, saying: text)
        case .refused(let status): throw .refusedCommand(platform, saying: Self.words(for: status))
        case .tooMany: throw .refusedCommand(platform, saying: "too many are under way")
        case .unanswered: throw .refusedCommand(platform, saying: "no answer came in time")
        case .draining: throw .refusedCommand(platform, saying: "the transport is being shut down")
        }
    }

    /// Whether the plugin may see it: what was left unencrypted for a transport that encrypts is for no other.
    private func mayShow(_ notification: Notification) -> Bool {
        notification.mode != .sealed || !notification.sealed.isEmpty || functions.encrypts
    }

    /// Whether ``receive(_:within:)`` asks the plugin.
    package var isReachable: Bool { functions.receive != nil }

    /// Hands the plugin a request from outside; returns what the client is answered, within `span`.
    package func receive(_ request: InboundRequest, within span: Duration = .seconds(10)) async -> InboundAnswer {
        guard let receive = functions.receive else { return InboundAnswer(status: 404) }
        let deadline = now() + span
        let end = await withCheckedContinuation { (waiter: InboundCalls.Waiter) in
            guard let context = bridge.inbound.open(waiter, of: bridge, deadline: deadline) else { return }
            let status = request.lend { receive(handle.pointer, $0, hostInboundDone, context.pointer) }
            if status != .CARILLON_OK { bridge.inbound.end(context.number, of: bridge, .refused(status)) }
            bridge.change { $0.leave() }
        }
        let answer = end.answer
        bridge.change { $0.countInbound(answer.status) }
        return answer
    }

    /// Requests from outside that the plugin has not answered and that somebody waits for.
    var openInbound: Int { bridge.change { $0.inbound.count } }

    /// Commands that the plugin has not answered and that somebody waits for.
    var openCommands: Int { bridge.change { $0.commands.count } }

    /// Why a plugin did not take a command on.
    static func words(for status: carillon_status) -> String {
        switch status {
        case .CARILLON_UNSUPPORTED: "there is no such command (\"help\" lists what there is)"
        case .CARILLON_INVALID: "it is malformed (\"help\" lists what there is)"
        case .CARILLON_BUSY: "not now, try again later"
        default: "it failed (status \(status.rawValue))"
        }
    }

    /// The plugin's answer to the command `status`; nil when it does not know the command or does not answer in time.
    package func status() async -> TransportStatus? {
        guard let answer = try? await command(["status"], within: .seconds(5)) else { return nil }
        return TransportStatus(answer: answer)
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

extension [String] {
    /// Lends the words for the time of `body`.
    fileprivate func lend<Result>(_ body: (UnsafePointer<carillon_str>?) -> Result) -> Result {
        let structBytes = count * MemoryLayout<carillon_str>.stride
        let textBytes = reduce(0) { $0 + $1.utf8.count }
        return withUnsafeTemporaryAllocation(byteCount: structBytes + textBytes, alignment: 8) { block in
            var memory = LentMemory(block, structBytes: structBytes, textBytes: textBytes)
            let array = memory.array(of: carillon_str.self, count: count)
            for (index, word) in enumerated() { array.initializeElement(at: index, to: memory.text(word)) }
            return body(isEmpty ? nil : UnsafePointer(array.baseAddress))
        }
    }
}
