import CarillonABI
import Core
import HTTPClient
import Logging
import PluginProtocol
import Push

/// A plugin's transport with one app's configuration.
///
/// The owner must call ``expireDeadlines()`` regularly, and ``drain(deadline:)`` before it releases the instance;
/// ``PluginHost`` does both.
package final class TransportInstance: DrainableInstance, Transport {
    /// The sending threads are notified after this many attempts: once for many, and early enough to send while the
    /// rest is prepared.
    private static let attemptsTogether = 64

    package let platform: String
    package let app: String
    private let entry: TransportEntry
    private let instance: PluginInstance
    private let bridge: PluginBridge
    private let timeout: Duration

    /// Creates the plugin's instance; blocks until the plugin has finished and the files of its configuration are read.
    init(
        _ blueprint: TransportBlueprint,
        app: String,
        configuration: String,
        settings: InstanceSettings
    ) throws(PluginError) {
        let whole: String
        do throws(ConfigurationFileError) {
            whole = try ConfigurationFiles(blueprint.entry.description).adding(to: configuration)
        } catch {
            throw .refusedConfiguration(blueprint.entry.platform, saying: error.description)
        }
        platform = blueprint.entry.platform
        entry = blueprint.entry
        self.app = app
        timeout = settings.deliveryTimeout
        var log = settings.log
        log[metadataKey: "plugin"] = "\(blueprint.pluginID)"
        log[metadataKey: "platform"] = "\(platform)"
        log[metadataKey: "app"] = "\(app)"
        let platform = platform
        bridge = PluginBridge(
            .transport(platform: platform, app: app),
            settings,
            inboundURL: entry.functions.contains(.receive) ? settings.inboundURL(platform, app) : nil,
            log: log
        )
        instance = try PluginInstance(blueprint, .transport, bridge: bridge, configuration: whole) {
            .refusedConfiguration(platform, saying: $0)
        }
    }

    package func now() -> Deadline { bridge.now() }

    /// The plugin's rule violations so far.
    package var statistics: TransportStatistics { bridge.statistics }

    /// The HTTP requests it made so far.
    package var requests: RequestCounts { bridge.change { $0.requests } }

    /// The streams it opened so far.
    package var streams: StreamCounts { bridge.change { $0.streams } }

    /// Whether no work is open now. Streams may be open.
    package var isIdle: Bool { bridge.change { $0.isIdle } }

    /// Throws the plugin's error for a registration. A plugin without `validate` accepts everything.
    package func validate(_ address: DeviceAddress) throws(PluginError) {
        guard entry.functions.contains(.validate), bridge.change({ $0.enter() }) else { return }
        defer { bridge.change { $0.leave() } }
        let reply = instance.isolated.validate { address.write(to: &$0) }
        switch reply.status {
        case .CARILLON_OK: return
        case .CARILLON_BUSY, .CARILLON_FAILED: throw .uncheckedRegistration(platform, saying: PluginText.words(reply))
        default: throw .refusedRegistration(platform, saying: PluginText.words(reply))
        }
    }

    /// Makes attempts one by one, or in batches up to the plugin's limit.
    package func deliver(_ attempts: [DeliveryAttempt]) {
        var rest = attempts[...]
        while !rest.isEmpty {
            WakeUps.together {
                let together = rest.prefix(max(entry.manyLimit, Self.attemptsTogether))
                for batch in divide(together) { deliver(batch: batch) }
                rest = rest.dropFirst(together.count)
            }
        }
    }

    /// Divides attempts into batches, in order. If the plugin requires it, each batch has one token.
    private func divide(_ attempts: ArraySlice<DeliveryAttempt>) -> [[DeliveryAttempt]] {
        guard entry.manyLimit > 1 else { return attempts.map { [$0] } }
        var batches: [[DeliveryAttempt]] = []
        var places: [String: Int] = [:]
        for attempt in attempts {
            let token = entry.manyPerToken ? attempt.address.token : ""
            if let place = places[token], batches[place].count < entry.manyLimit {
                batches[place].append(attempt)
            } else {
                places[token] = batches.count
                batches.append([attempt])
            }
        }
        return batches
    }

    private func deliver(batch attempts: [DeliveryAttempt]) {
        let deadline = bridge.now() + timeout
        var admitted: [DeliveryAttempt] = []
        var tickets: [UInt64] = []
        for attempt in attempts {
            guard mayShow(attempt.delivery.notification) else {
                attempt.completion(Outcome(refusal: .CARILLON_UNSUPPORTED))
                continue
            }
            switch bridge.change({ $0.admit(attempt.completion, deadline: deadline) }) {
            case .refused(let completion, let reason): completion(Outcome(.retry, reason: reason))
            case .admitted(let ticket):
                admitted.append(attempt)
                tickets.append(ticket)
            }
        }
        let write = { (attempt: DeliveryAttempt, writer: inout FrameWriter) in
            attempt.delivery.notification.write(id: attempt.delivery.id, to: attempt.address, in: &writer)
        }
        let status = tickets.isEmpty ? .CARILLON_OK : instance.isolated.deliver(tickets) { write(admitted[$0], &$1) }
        for (ticket, attempt) in zip(tickets, admitted) where status != .CARILLON_OK {
            let goesAlone = status == .CARILLON_UNSUPPORTED && tickets.count > 1
            settle(ticket, goesAlone ? instance.isolated.deliver([ticket]) { write(attempt, &$1) } : status)
        }
        for _ in tickets { bridge.change { $0.leave() } }
    }

    /// Ends a delivery that the plugin's process did not take.
    private func settle(_ ticket: UInt64, _ status: carillon_status) {
        guard status != .CARILLON_OK, let completion = bridge.change({ $0.withdraw(ticket) }) else { return }
        completion(Outcome(refusal: status))
    }

    /// Ends overdue deliveries as retries and asks the plugin to cancel them; ends overdue commands.
    package func expireDeadlines() {
        let now = bridge.now()
        bridge.expireCalls(now: now)
        let expired = bridge.change { $0.expire(now: now) }
        guard !expired.isEmpty else { return }
        for (ticket, completion) in expired {
            completion(Outcome(.retry, reason: "deadline"))
            cancel(ticket)
        }
        bridge.change { $0.leave() }
    }

    package func drain(deadline: Deadline) async -> Bool {
        await instance.drain { [self] in
            let outstanding = bridge.change { $0.drain(deadline: deadline) }
            for ticket in outstanding { cancel(ticket) }
            bridge.change { $0.leave() }
        }
    }

    private func cancel(_ ticket: UInt64) {
        if entry.functions.contains(.cancel) { instance.isolated.cancel(ticket) }
    }

    /// Runs an operator's command for the push service; returns the plugin's output, for people or a program.
    ///
    /// - Throws: The plugin's error, or that the command is unknown, or that no response arrived within `span`.
    package func command(
        _ words: [String],
        within span: Duration = .minutes(1)
    ) async throws(PluginError) -> String {
        // `help` works for all plugins, even those without commands.
        let isHelp = words == ["help"]
        let unknown = Self.words(for: .CARILLON_UNSUPPORTED)
        let nothing = "the plugin of \(platform) has no commands"
        guard entry.functions.contains(.command) else {
            if isHelp { return nothing }
            throw .refusedCommand(platform, saying: "it has no commands")
        }
        let deadline = now() + span
        let end = await withCheckedContinuation { continuation in
            let waiter: @Sendable (CommandResult) -> Void = { continuation.resume(returning: $0) }
            switch bridge.change({ $0.beginCommand(deadline: deadline, waiter) }) {
            case .draining: waiter(.draining)
            case .tooMany: waiter(.tooMany)
            case .admitted(let number):
                let status = instance.isolated.command { writer in
                    writer.number(UInt32(clamping: words.count))
                    for word in words { writer.text(word) }
                } done: { [bridge] in
                    bridge.endCommand(number, CommandResult($0))
                }
                if status != .CARILLON_OK { bridge.endCommand(number, .refused(status)) }
                bridge.change { $0.leave() }
            }
        }
        switch end {
        case .answered(let text): return text
        case .refused(.CARILLON_UNSUPPORTED) where isHelp: return nothing
        case .failed(let text) where isHelp && text == unknown: return nothing
        case .failed(let text): throw .failedCommand(platform, saying: text)
        case .refused(let status): throw .refusedCommand(platform, saying: Self.words(for: status))
        case .tooMany: throw .refusedCommand(platform, saying: "too many are in progress")
        case .unanswered: throw .refusedCommand(platform, saying: "no response arrived in time")
        case .draining: throw .refusedCommand(platform, saying: "the transport is being shut down")
        }
    }

    /// Whether the plugin may see it. Only a transport that encrypts may get an unencrypted one of mode sealed.
    private func mayShow(_ notification: Notification) -> Bool {
        notification.mode != .sealed || !notification.sealed.isEmpty || entry.encrypts
    }

    /// Whether ``receive(_:within:)`` calls the plugin.
    package var isReachable: Bool { entry.functions.contains(.receive) }

    /// Passes a client's request to the plugin, and returns the response for the client within `span`.
    package func receive(_ request: InboundRequest, within span: Duration = .seconds(10)) async -> InboundAnswer {
        guard isReachable else { return InboundAnswer(status: 404) }
        let deadline = now() + span
        let end = await withCheckedContinuation { continuation in
            let waiter: @Sendable (InboundResult) -> Void = { continuation.resume(returning: $0) }
            switch bridge.change({ $0.beginInbound(deadline: deadline, waiter) }) {
            case .draining: waiter(.draining)
            case .tooMany: waiter(.tooMany)
            case .admitted(let number):
                let status = instance.isolated.receive {
                    request.write(to: &$0)
                } done: { [bridge] in
                    bridge.endInbound(number, InboundResult($0))
                }
                if status != .CARILLON_OK { bridge.endInbound(number, .refused(status)) }
                bridge.change { $0.leave() }
            }
        }
        let answer = end.answer
        bridge.change { $0.countInbound(answer.status) }
        return answer
    }

    /// Clients' requests that the plugin has not answered and whose callers still wait.
    var openInbound: Int { bridge.change { $0.inbound.count } }

    /// Commands that the plugin has not answered and whose callers still wait.
    var openCommands: Int { bridge.change { $0.commands.count } }

    /// Returns why a plugin refused a command.
    package static func words(for status: carillon_status) -> String {
        switch status {
        case .CARILLON_UNSUPPORTED: "unknown command (\"help\" lists all commands)"
        case .CARILLON_INVALID: "invalid arguments (\"help\" lists all commands)"
        case .CARILLON_BUSY: "the plugin is busy, try again later"
        default: "it failed (status \(status.rawValue))"
        }
    }

    /// Returns the plugin's response to the command `status`; nil if it does not know the command or does not respond
    /// in time.
    package func status() async -> TransportStatus? {
        guard let answer = try? await command(["status"], within: .seconds(5)) else { return nil }
        return TransportStatus(answer: answer)
    }
}

extension Outcome {
    /// The outcome of a delivery that a plugin refused.
    fileprivate init(refusal status: carillon_status) {
        switch status {
        case .CARILLON_INVALID: self.init(.rejected, reason: "invalid")
        case .CARILLON_UNSUPPORTED: self.init(.rejected, reason: "unsupported")
        case .CARILLON_BUSY: self.init(.retry, reason: "busy")
        default: self.init(.retry, reason: "failed")
        }
    }
}
