import CarillonABI
import Logging
import Synchronization
import Units

/// Those who wait for what a plugin answers, by the numbers of its calls.
private final class Waiters<End: Sendable>: Sendable {
    typealias Waiter = CheckedContinuation<End, Never>

    private let waiting = Mutex<[UInt64: Waiter]>([:])

    func add(_ waiter: Waiter, _ number: UInt64) { waiting.withLock { $0[number] = waiter } }

    func take(_ number: UInt64) -> Waiter? { waiting.withLock { $0.removeValue(forKey: number) } }

    /// Lets nobody wait any longer.
    func end(_ end: End) {
        let all = waiting.withLock { waiting in
            defer { waiting = [:] }
            return Array(waiting.values)
        }
        for waiter in all { waiter.resume(returning: end) }
    }
}

/// Operators' commands to one instance, until the plugin answers them.
final class PluginCommands: Sendable {
    typealias Waiter = CheckedContinuation<CommandEnd, Never>

    private static let answerLimit = 1 << 20

    private let waiters = Waiters<CommandEnd>()

    /// Opens a command whose end `waiter` receives. A call to the plugin begins unless this is nil, and
    /// ``InstanceState/leave()`` must follow.
    func open(_ waiter: Waiter, of bridge: PluginBridge, deadline: Deadline) -> CallContext? {
        let place = bridge.number
        let (context, refusal) = bridge.change { state -> (CallContext?, CommandEnd?) in
            switch state.beginCommand(deadline: deadline) {
            case .refused(let end): return (nil, end)
            case .admitted(let number):
                guard let context = place.map({ CallContext(bridge: $0, number: number) }), context.pointer != nil
                else {
                    _ = state.endCommand(number)
                    state.leave()
                    return (nil, .tooMany)
                }
                // Still with the lock: else it could expire before anybody waits.
                waiters.add(waiter, number)
                return (context, nil)
            }
        }
        if let refusal { waiter.resume(returning: refusal) }
        return context
    }

    /// The plugin answered, or did not take the command on. Only the first end of a command counts.
    func end(_ number: UInt64, of bridge: PluginBridge, _ end: CommandEnd) {
        let (waiter, ending, mistakes) = bridge.change { state in
            (waiters.take(number), state.endCommand(number), state.statistics)
        }
        waiter?.resume(returning: end)
        guard case .unknown = ending else { return }
        bridge.warn("The plugin answered a command twice, or one that it had refused", times: mistakes.unknownTickets)
    }

    /// Ends the commands whose deadline has passed.
    func expire(of bridge: PluginBridge, now: Deadline) {
        let late = bridge.change { state in state.expireCommands(now: now).compactMap { waiters.take($0) } }
        for waiter in late { waiter.resume(returning: .unanswered) }
    }

    /// No answer comes any more.
    func close() { waiters.end(.draining) }

    /// `carillon_command_done`.
    static func answer(_ context: UnsafeMutableRawPointer?, _ status: carillon_status, _ answer: carillon_str) {
        guard let context = CallContext(context), let bridge = OpenedBridges.bridge(context.bridge) else { return }
        let text = PluginText.page(answer, limit: answerLimit)
        bridge.commands.end(context.number, of: bridge, status == .CARILLON_OK ? .answered(text) : .failed(text))
    }
}

/// Requests from outside to one instance, until the plugin answers them.
final class InboundCalls: Sendable {
    typealias Waiter = CheckedContinuation<InboundEnd, Never>

    private let waiters = Waiters<InboundEnd>()

    /// Opens a request whose end `waiter` receives. A call to the plugin begins unless this is nil, and
    /// ``InstanceState/leave()`` must follow.
    func open(_ waiter: Waiter, of bridge: PluginBridge, deadline: Deadline) -> CallContext? {
        let place = bridge.number
        let (context, refusal) = bridge.change { state -> (CallContext?, InboundEnd?) in
            switch state.beginInbound(deadline: deadline) {
            case .refused(let end): return (nil, end)
            case .admitted(let number):
                guard let context = place.map({ CallContext(bridge: $0, number: number) }), context.pointer != nil
                else {
                    _ = state.endInbound(number)
                    state.leave()
                    return (nil, .tooMany)
                }
                waiters.add(waiter, number)
                return (context, nil)
            }
        }
        if let refusal { waiter.resume(returning: refusal) }
        return context
    }

    /// The plugin answered, or did not take the request. Only the first end of a request counts.
    func end(_ number: UInt64, of bridge: PluginBridge, _ end: InboundEnd) {
        let (waiter, ending, mistakes) = bridge.change { state in
            (waiters.take(number), state.endInbound(number), state.statistics)
        }
        switch (ending, end) {
        case (.unknown, _):
            let times = mistakes.unknownTickets
            bridge.warn("The plugin answered a request twice, or one that it had refused", times: times)
        case (.ended, .malformed):
            bridge.note("The plugin gave an answer that cannot be passed on", \.malformedAnswers)
        default: break
        }
        waiter?.resume(returning: end)
    }

    /// Ends the requests whose deadline has passed.
    func expire(of bridge: PluginBridge, now: Deadline) {
        let late = bridge.change { state in state.expireInbound(now: now).compactMap { waiters.take($0) } }
        for waiter in late { waiter.resume(returning: .unanswered) }
    }

    /// No answer comes any more.
    func close() { waiters.end(.draining) }

    /// `carillon_inbound_done`.
    static func answer(_ context: UnsafeMutableRawPointer?, _ answer: UnsafePointer<carillon_inbound_answer>?) {
        guard let context = CallContext(context), let bridge = OpenedBridges.bridge(context.bridge) else { return }
        let end = InboundAnswer(reading: answer).map { InboundEnd.answered($0) } ?? .malformed
        bridge.inbound.end(context.number, of: bridge, end)
    }
}
