import CarillonABI
import HTTPLanes
import Logging
import Notifications
import PluginProtocol
import PluginServices
import Synchronization
import Units

/// The C boundary of one instance: what its plugin sees of the host, behind the functions of its `carillon_host`.
///
/// It is never freed. A plugin that calls after its instance was destroyed breaks the rules; it then finds a closed
/// bridge instead of freed memory, at the price of a few hundred bytes for every reload.
final class PluginBridge: Sendable {
    typealias Completion = @Sendable (Outcome) -> Void
    typealias State = InstanceState<Completion>
    typealias CommandWaiter = CheckedContinuation<CommandEnd, Never>
    typealias InboundWaiter = CheckedContinuation<InboundEnd, Never>

    /// What the lock holds.
    private struct Shell {
        /// What there is to tidy up when nothing is sent any more.
        typealias Rest = (
            sender: (any HTTPSender)?, scopes: [ConnectionScope], commands: [CommandWaiter], inbound: [InboundWaiter]
        )

        var state = State()
        /// Nil once nothing may be sent any more.
        var sender: (any HTTPSender)?
        /// Waits for the drain to settle.
        var waiter: CheckedContinuation<Bool, Never>?
        var connections = ConnectionWords()
        /// The bridge's number among all that were ever opened; nil before.
        var number: Int?
        /// Those who wait for commands, by the commands' numbers.
        var commands: [UInt64: CommandWaiter] = [:]
        /// Those who wait for answers to requests from outside, by the requests' numbers.
        var inbound: [UInt64: InboundWaiter] = [:]
        /// What a filter sets in the calls that are inside it, by their numbers.
        var edits: [UInt64: FilterEdit] = [:]
        var lastEdit: UInt64 = 0

        mutating func shut() -> Rest {
            defer {
                sender = nil
                commands = [:]
                inbound = [:]
            }
            return (sender, connections.removeAll(), Array(commands.values), Array(inbound.values))
        }
    }

    /// Keeps a bridge and the struct that leads to it.
    ///
    /// Unchecked: the struct never changes once it is here.
    private struct Opened: @unchecked Sendable {
        let bridge: PluginBridge
        let host: UnsafePointer<carillon_host>
    }

    /// The plugin's `done` of a request, carried to the thread that calls it.
    ///
    /// Unchecked: the pointer is the plugin's own business and never looked into here.
    private struct Reply: @unchecked Sendable {
        let done: carillon_http_done
        let context: UnsafeMutableRawPointer?
    }

    private static let everOpened = Mutex<[Opened]>([])
    private static let lineLimit = 1024
    private static let answerLimit = 1 << 20

    let log: Logger
    /// The clock that deadlines go by.
    let now: @Sendable () -> Deadline
    /// What is kept for the instance.
    let values: InstanceValues
    /// Where the instance is reached from outside; nil: nowhere.
    let inboundURL: String?
    private let timers: PluginTimers
    private let shell: Mutex<Shell>
    /// What it has open besides requests.
    let streams: PluginStreams

    /// A bridge for an instance of `owner`.
    init(_ owner: StateOwner, _ settings: InstanceSettings, inboundURL: String? = nil, log: Logger) {
        self.log = log
        self.inboundURL = inboundURL
        now = settings.now
        values = settings.states.open(owner)
        timers = settings.timers
        shell = Mutex(Shell(sender: settings.sender.share()))
        streams = PluginStreams(settings.streams)
    }

    // MARK: Opening and closing

    /// The `carillon_host` for the plugin, valid until the process ends. Call this once.
    func openForPlugin() -> UnsafePointer<carillon_host> {
        let host = UnsafeMutablePointer<carillon_host>.allocate(capacity: 1)
        host.initialize(to: hostTable(data: Unmanaged.passUnretained(self).toOpaque()))
        let opened = Opened(bridge: self, host: UnsafePointer(host))
        let number = Self.everOpened.withLock { bridges in
            bridges.append(opened)
            return bridges.count - 1
        }
        shell.withLock { $0.number = number }
        return opened.host
    }

    /// The bridge of that number, as long as there was one.
    private static func opened(_ number: Int) -> PluginBridge? {
        everOpened.withLock { $0.indices.contains(number) ? $0[number].bridge : nil }
    }

    /// Lets nothing through any more: there was never an instance behind it.
    func close() {
        streams.endAll()
        tidyUp(
            shell.withLock { shell in
                shell.state.close()
                return shell.shut()
            }
        )
        end()
    }

    /// The plugin's instance is gone.
    func end() { values.close() }

    /// Waits until the drain that began has settled: true when the instance may be destroyed.
    func settled() async -> Bool {
        await withCheckedContinuation { continuation in
            shell.withLock { $0.waiter = continuation }
            settle()
        }
    }

    private func settle() {
        let settled = shell.withLock { shell -> (State.Settlement, CheckedContinuation<Bool, Never>, Shell.Rest)? in
            guard let waiter = shell.waiter, let settlement = shell.state.settle(now: now()) else { return nil }
            if case .onlyStreams = settlement { return (settlement, waiter, (nil, [], [], [])) }
            shell.waiter = nil
            return (settlement, waiter, shell.shut())
        }
        guard let (settlement, waiter, rest) = settled else { return }
        tidyUp(rest)
        switch settlement {
        case .onlyStreams: streams.endAll()
        case .idle: waiter.resume(returning: true)
        case .stuck(let completions):
            streams.endAll()
            for completion in completions { completion(Outcome(.retry, reason: "draining")) }
            waiter.resume(returning: false)
        }
    }

    private func tidyUp(_ rest: Shell.Rest) {
        if let number = timerOwner { timers.removeAll(of: number) }
        for scope in rest.scopes { rest.sender?.retire(scope) }
        for command in rest.commands { command.resume(returning: .draining) }
        for request in rest.inbound { request.resume(returning: .draining) }
    }

    // MARK: State

    var statistics: TransportStatistics { shell.withLock { $0.state.statistics } }

    /// Changes the state, and lets the waiting drain go on when that settles it.
    func change<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        changeShell { body(&$0.state) }
    }

    private func changeShell<Result: Sendable>(_ body: (inout Shell) -> Result) -> Result {
        let (result, isAwaited) = shell.withLock { (body(&$0), $0.waiter != nil) }
        if isAwaited { settle() }
        return result
    }

    /// Counts a plugin's mistake, and logs it, ever more rarely.
    func note(_ mistake: Logger.Message, _ counter: WritableKeyPath<TransportStatistics, UInt64>) {
        let count = change { state in
            state.statistics[keyPath: counter] += 1
            return state.statistics[keyPath: counter]
        }
        warn(mistake, times: count)
    }

    /// Counts a mistake that the plugin's process has answered.
    func note(_ rule: MistakeMessage.Rule, _ text: String) {
        switch rule {
        case .request: noteRequest(PluginText.printable(text))
        case .edit: note("The filter sets what cannot be taken", \.malformedEdits)
        case .stream: noteStream(PluginText.printable(text))
        }
    }

    private func noteRequest(_ flaw: String) {
        log.debug("The plugin asked for a request that cannot be sent", metadata: ["flaw": "\(flaw)"])
        note("The plugin asked for requests that cannot be sent", \.malformedRequests)
    }

    /// Counts a mistake with a stream; `flaw` holds no value of the plugin's.
    func noteStream(_ flaw: String) {
        log.debug("The plugin used a stream as nobody may", metadata: ["flaw": "\(flaw)"])
        note("The plugin used streams as nobody may", \.malformedStreams)
    }

    /// Logs the first, second, fourth, eighth … time.
    private func warn(_ mistake: Logger.Message, times count: UInt64) {
        guard count.nonzeroBitCount == 1 else { return }
        log.warning(mistake, metadata: ["times": "\(count)"])
    }

    // MARK: Functions of the host

    /// `carillon_host.log`.
    func write(_ message: carillon_str, _ level: carillon_log_level) {
        let level: Logger.Level =
            switch level {
            case .CARILLON_DEBUG: .debug
            case .CARILLON_INFO: .info
            case .CARILLON_WARNING: .warning
            case .CARILLON_ERROR: .error
            @unknown default: .warning
            }
        guard level >= log.logLevel else { return }
        log.log(
            level: level,
            "The plugin reports",
            metadata: ["line": "\(PluginText.line(message, limit: Self.lineLimit))"]
        )
    }

    /// `carillon_host.complete`.
    func complete(_ ticket: UInt64, _ pointer: UnsafePointer<carillon_outcome>?) {
        let (outcome, isWellFormed) = Outcome.reading(pointer)
        let (end, mistakes) = change { state in (state.complete(ticket), state.statistics.unknownTickets) }
        switch end {
        case .ended(let completion):
            if !isWellFormed { note("The plugin gave an outcome that is none", \.malformedOutcomes) }
            completion(outcome)
            change { $0.leave() }
        case .late: break
        case .unknown: warn("The plugin ended a ticket twice, or one that is not its own", times: mistakes)
        }
    }

    /// `carillon_host.http_request`.
    func send(
        _ pointer: UnsafePointer<carillon_http_request>?,
        _ done: carillon_http_done?,
        _ context: UnsafeMutableRawPointer?
    ) -> carillon_status {
        do throws(RequestError) {
            guard let done else { throw RequestError(.CARILLON_INVALID, "done is NULL") }
            var (request, connection) = try HTTPRequest.reading(pointer)
            guard let (sender, scope) = beginRequest(on: connection) else { return .CARILLON_BUSY }
            request.scope = scope
            let reply = Reply(done: done, context: context)
            let note = LastingNote.current
            sender.send(request) { [self] result in
                result.lend { response in
                    guard let note else { return reply.done(reply.context, response) }
                    note.during { reply.done(reply.context, response) }
                }
                let failure: HTTPFailure.Reason? =
                    if case .failure(let failure) = result { failure.reason } else { nil }
                change { $0.endRequest(failure) }
            }
            return .CARILLON_OK
        } catch {
            noteRequest(error.text)
            return error.status
        }
    }

    /// The sender and the connections for a request of the word `connection` that begins now; nil when none may begin.
    private func beginRequest(
        on connection: UnsafeBufferPointer<UInt8>
    ) -> (sender: any HTTPSender, scope: ConnectionScope?)? {
        let begun = shell.withLock { shell -> (any HTTPSender, ConnectionScope?, ConnectionScope?)? in
            guard shell.state.beginRequest(), let sender = shell.sender else { return nil }
            guard !connection.isEmpty else { return (sender, nil, nil) }
            let (scope, retired) = shell.connections.scope(of: connection)
            return (sender, scope, retired)
        }
        guard let (sender, scope, retired) = begun else { return nil }
        if let retired { sender.retire(retired) }
        return (sender, scope)
    }

    /// Gives the words of requests new connections, as the plugin has forgotten what it did with the former ones:
    /// Apple, for one, refuses a second token on a connection for 20 minutes. What is under way on them goes on.
    func forgetConnections() {
        let (sender, retired) = shell.withLock { ($0.sender, $0.connections.removeAll()) }
        for scope in retired { sender?.retire(scope) }
    }

    /// `present` of the service `carillon.client-certificate/1`.
    func present(
        _ certificates: carillon_str,
        _ key: carillon_str,
        on connection: carillon_str,
        _ room: UnsafeMutablePointer<carillon_error>?
    ) -> carillon_status {
        do throws(CertificateError) {
            let (certificate, word) = try ClientCertificate.reading(certificates, key, on: connection)
            let (sender, retired) = shell.withLock { ($0.sender, $0.connections.present(certificate, on: word)) }
            guard let retired else { throw .tooMany }
            for scope in retired { sender?.retire(scope) }
            return .CARILLON_OK
        } catch {
            ErrorBuffer.write(error.text, to: room)
            return .CARILLON_INVALID
        }
    }

    // MARK: Timers

    /// What the table of timers knows the instance by.
    private var timerOwner: UInt64? { shell.withLock { $0.number.map(UInt64.init) } }

    /// `start` of the service `carillon.timer/1`.
    func startTimer(
        after: UInt64,
        every: UInt64,
        _ fired: carillon_timer_fired?,
        _ context: UnsafeMutableRawPointer?,
        _ timer: UnsafeMutablePointer<UInt64>?
    ) -> carillon_status {
        guard let fired, let timer, let number = timerOwner else { return .CARILLON_INVALID }
        guard change({ $0.mayBegin }) else { return .CARILLON_BUSY }
        return timers.start(of: self, number, after: after, every: every, fired, context, timer)
    }

    /// `cancel` of the service `carillon.timer/1`.
    func cancelTimer(_ timer: UInt64) -> carillon_status {
        timerOwner.map { timers.cancel(timer, of: $0) } ?? .CARILLON_INVALID
    }

    /// A timer is about to call the plugin. False: the instance has nothing to do any more, and none of its timers
    /// fires again; else ``InstanceState/leave()`` must follow.
    func enterTimer() -> Bool {
        let isOpen = change { $0.enterTimer() }
        if !isOpen, let number = timerOwner { timers.removeAll(of: number) }
        return isOpen
    }

    // MARK: State

    /// `get` of the service `carillon.state/1`.
    func lendState(
        _ key: carillon_str,
        _ value: carillon_value?,
        _ context: UnsafeMutableRawPointer?
    ) -> carillon_status {
        guard let value, let key = PluginText.bytes(key, limit: StateValues.keyLimit),
            let kept = values.value(of: Array(key))
        else { return .CARILLON_INVALID }
        kept.withUnsafeBytes { value(context, carillon_bytes(ptr: $0.baseAddress, len: $0.count)) }
        return .CARILLON_OK
    }

    /// `set` of the service `carillon.state/1`.
    func keepState(_ key: carillon_str, _ value: carillon_bytes) -> carillon_status {
        guard let key = PluginText.bytes(key, limit: StateValues.keyLimit),
            let value = PluginText.bytes(value, limit: StateValues.valueLimit)
        else { return .CARILLON_INVALID }
        return values.set(StateEntry(key: Array(key), value: Array(value))) ? .CARILLON_OK : .CARILLON_INVALID
    }

    // MARK: Operators' commands

    /// Opens a command whose end `waiter` receives. A call to the plugin begins unless this is nil, and
    /// ``InstanceState/leave()`` must follow.
    func openCommand(_ waiter: CommandWaiter, deadline: Deadline) -> UnsafeMutableRawPointer? {
        let (context, refusal) = shell.withLock { shell -> (UnsafeMutableRawPointer?, CommandEnd?) in
            switch shell.state.beginCommand(deadline: deadline) {
            case .refused(let end): return (nil, end)
            case .admitted(let number):
                guard let bridge = shell.number,
                    let context = CallContext(bridge: bridge, number: number).pointer
                else {
                    _ = shell.state.endCommand(number)
                    shell.state.leave()
                    return (nil, .tooMany)
                }
                shell.commands[number] = waiter
                return (context, nil)
            }
        }
        if let refusal { waiter.resume(returning: refusal) }
        return context
    }

    /// The plugin answered, or did not take the command on. Only the first end of a command counts.
    func endCommand(_ number: UInt64, _ end: CommandEnd) {
        let (waiter, ending, mistakes) = changeShell { shell in
            (shell.commands.removeValue(forKey: number), shell.state.endCommand(number), shell.state.statistics)
        }
        waiter?.resume(returning: end)
        guard case .unknown = ending else { return }
        warn("The plugin answered a command twice, or one that it had refused", times: mistakes.unknownTickets)
    }

    /// Ends the commands whose deadline has passed.
    func expireCommands(now: Deadline) {
        let waiters = changeShell { shell in
            shell.state.expireCommands(now: now).compactMap { shell.commands.removeValue(forKey: $0) }
        }
        for waiter in waiters { waiter.resume(returning: .unanswered) }
    }

    /// `carillon_command_done`.
    static func answer(_ context: UnsafeMutableRawPointer?, _ status: carillon_status, _ answer: carillon_str) {
        guard let context = CallContext(context), let bridge = opened(context.bridge) else { return }
        let text = PluginText.page(answer, limit: answerLimit)
        bridge.endCommand(context.number, status == .CARILLON_OK ? .answered(text) : .failed(text))
    }

    // MARK: Requests from outside

    /// `url` of the service `carillon.inbound/1`.
    func sayInboundURL(_ value: carillon_value?, _ context: UnsafeMutableRawPointer?) -> carillon_status {
        guard let value else { return .CARILLON_INVALID }
        guard var url = inboundURL else { return .CARILLON_UNSUPPORTED }
        url.withUTF8 { value(context, carillon_bytes(ptr: UnsafeRawPointer($0.baseAddress), len: $0.count)) }
        return .CARILLON_OK
    }

    /// Opens a request whose end `waiter` receives. A call to the plugin begins unless this is nil, and
    /// ``InstanceState/leave()`` must follow.
    func openInbound(_ waiter: InboundWaiter, deadline: Deadline) -> UnsafeMutableRawPointer? {
        let (context, refusal) = shell.withLock { shell -> (UnsafeMutableRawPointer?, InboundEnd?) in
            switch shell.state.beginInbound(deadline: deadline) {
            case .refused(let end): return (nil, end)
            case .admitted(let number):
                guard let bridge = shell.number,
                    let context = CallContext(bridge: bridge, number: number).pointer
                else {
                    _ = shell.state.endInbound(number)
                    shell.state.leave()
                    return (nil, .tooMany)
                }
                shell.inbound[number] = waiter
                return (context, nil)
            }
        }
        if let refusal { waiter.resume(returning: refusal) }
        return context
    }

    /// The plugin answered, or did not take the request. Only the first end of a request counts.
    func endInbound(_ number: UInt64, _ end: InboundEnd) {
        let (waiter, ending, mistakes) = changeShell { shell in
            (shell.inbound.removeValue(forKey: number), shell.state.endInbound(number), shell.state.statistics)
        }
        switch (ending, end) {
        case (.unknown, _):
            warn("The plugin answered a request twice, or one that it had refused", times: mistakes.unknownTickets)
        case (.ended, .malformed): note("The plugin gave an answer that cannot be passed on", \.malformedAnswers)
        default: break
        }
        waiter?.resume(returning: end)
    }

    /// Ends the requests whose deadline has passed.
    func expireInbound(now: Deadline) {
        let waiters = changeShell { shell in
            shell.state.expireInbound(now: now).compactMap { shell.inbound.removeValue(forKey: $0) }
        }
        for waiter in waiters { waiter.resume(returning: .unanswered) }
    }

    /// `carillon_inbound_done`.
    static func answer(_ context: UnsafeMutableRawPointer?, _ answer: UnsafePointer<carillon_inbound_answer>?) {
        guard let context = CallContext(context), let bridge = opened(context.bridge) else { return }
        bridge.endInbound(context.number, InboundAnswer(reading: answer).map { .answered($0) } ?? .malformed)
    }

    // MARK: Filters' edits

    /// Opens what a filter may set in one call, under the pointer that stands for it. A call to the plugin begins
    /// unless that is nil, and ``closeEdit(_:)`` must follow.
    func openEdit(_ notification: Notification?) -> (number: UInt64, pointer: OpaquePointer)? {
        changeShell { shell -> (number: UInt64, pointer: UInt)? in
            guard shell.state.enter() else { return nil }
            shell.lastEdit += 1
            guard let bridge = shell.number,
                let pointer = CallContext(bridge: bridge, number: shell.lastEdit).pointer
            else {
                shell.state.leave()
                return nil
            }
            shell.edits[shell.lastEdit] = FilterEdit(notification)
            return (shell.lastEdit, UInt(bitPattern: pointer))
        }
        .flatMap { opened in OpaquePointer(bitPattern: opened.pointer).map { (opened.number, $0) } }
    }

    /// The call has returned: what the filter set in it. Later edits are refused.
    func closeEdit(_ number: UInt64) -> FilterEdit {
        changeShell { shell in
            shell.state.leave()
            return shell.edits.removeValue(forKey: number) ?? FilterEdit(nil)
        }
    }

    /// `carillon_filter_call.set`.
    static func set(_ edit: OpaquePointer?, _ field: carillon_str, _ value: carillon_bytes) -> carillon_status {
        guard let context = CallContext(edit.map { UnsafeMutableRawPointer($0) }), let bridge = opened(context.bridge)
        else { return .CARILLON_INVALID }
        let status = bridge.shell.withLock { $0.edits[context.number]?.set(field, value) }
        guard let status else {
            bridge.note("The filter sets something after its call has returned", \.malformedEdits)
            return .CARILLON_INVALID
        }
        if status == .CARILLON_INVALID { bridge.note("The filter sets what cannot be taken", \.malformedEdits) }
        return status
    }
}
