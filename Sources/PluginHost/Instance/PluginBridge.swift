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
/// It is never freed: see ``OpenedBridges``.
final class PluginBridge: Sendable {
    typealias Completion = @Sendable (Outcome) -> Void
    typealias State = InstanceState<Completion>

    /// What the lock holds.
    private struct Shell {
        var state = State()
        /// Waits for the drain to settle.
        var waiter: CheckedContinuation<Bool, Never>?
        /// The bridge's number among all that were ever opened; nil before.
        var number: Int?
    }

    private static let lineLimit = 1024

    let log: Logger
    /// The clock that deadlines go by.
    let now: @Sendable () -> Deadline
    /// What is kept for the instance.
    let values: InstanceValues
    /// Where the instance is reached from outside; nil: nowhere.
    let inboundURL: String?
    private let timers: PluginTimers
    private let shell: Mutex<Shell>
    let requests: PluginRequests
    /// What it has open besides requests.
    let streams: PluginStreams
    let commands = PluginCommands()
    let inbound = InboundCalls()
    /// What a filter sets in the calls that are inside it.
    private let edits = OpenEdits()

    /// A bridge for an instance of `owner`.
    init(_ owner: StateOwner, _ settings: InstanceSettings, inboundURL: String? = nil, log: Logger) {
        self.log = log
        self.inboundURL = inboundURL
        now = settings.now
        values = settings.states.open(owner)
        timers = settings.timers
        shell = Mutex(Shell())
        requests = PluginRequests(settings.sender.share())
        streams = PluginStreams(settings.streams)
    }

    // MARK: Opening and closing

    /// The `carillon_host` for the plugin, valid until the process ends. Call this once.
    func openForPlugin() -> UnsafePointer<carillon_host> {
        let (number, host) = OpenedBridges.add(self)
        shell.withLock { $0.number = number }
        return host
    }

    /// Lets nothing through any more: there was never an instance behind it.
    func close() {
        streams.endAll()
        shell.withLock { $0.state.close() }
        tidyUp()
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
        let settled = shell.withLock { shell -> (State.Settlement, CheckedContinuation<Bool, Never>)? in
            guard let waiter = shell.waiter, let settlement = shell.state.settle(now: now()) else { return nil }
            if case .onlyStreams = settlement {} else { shell.waiter = nil }
            return (settlement, waiter)
        }
        guard let (settlement, waiter) = settled else { return }
        if case .onlyStreams = settlement {} else { tidyUp() }
        switch settlement {
        case .onlyStreams: streams.endAll()
        case .idle: waiter.resume(returning: true)
        case .stuck(let completions):
            streams.endAll()
            for completion in completions { completion(Outcome(.retry, reason: "draining")) }
            waiter.resume(returning: false)
        }
    }

    /// Nothing is sent any more.
    private func tidyUp() {
        if let number { timers.removeAll(of: UInt64(number)) }
        requests.close()
        commands.close()
        inbound.close()
    }

    // MARK: State

    var statistics: TransportStatistics { shell.withLock { $0.state.statistics } }

    /// Changes the state, and lets the waiting drain go on when that settles it.
    func change<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        let (result, isAwaited) = shell.withLock { (body(&$0.state), $0.waiter != nil) }
        if isAwaited { settle() }
        return result
    }

    /// The bridge's number among all that were ever opened; nil before.
    var number: Int? { shell.withLock(\.number) }

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

    /// Counts a request that cannot be sent; `flaw` holds no value of the plugin's.
    func noteRequest(_ flaw: String) {
        log.debug("The plugin asked for a request that cannot be sent", metadata: ["flaw": "\(flaw)"])
        note("The plugin asked for requests that cannot be sent", \.malformedRequests)
    }

    /// Counts a mistake with a stream; `flaw` holds no value of the plugin's.
    func noteStream(_ flaw: String) {
        log.debug("The plugin used a stream as nobody may", metadata: ["flaw": "\(flaw)"])
        note("The plugin used streams as nobody may", \.malformedStreams)
    }

    /// Logs the first, second, fourth, eighth … time.
    func warn(_ mistake: Logger.Message, times count: UInt64) {
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

    // MARK: Timers

    /// What the table of timers knows the instance by.
    private var timerOwner: UInt64? { number.map(UInt64.init) }

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

    // MARK: Requests from outside

    /// `url` of the service `carillon.inbound/1`.
    func sayInboundURL(_ value: carillon_value?, _ context: UnsafeMutableRawPointer?) -> carillon_status {
        guard let value else { return .CARILLON_INVALID }
        guard var url = inboundURL else { return .CARILLON_UNSUPPORTED }
        url.withUTF8 { value(context, carillon_bytes(ptr: UnsafeRawPointer($0.baseAddress), len: $0.count)) }
        return .CARILLON_OK
    }

    // MARK: Filters' edits

    /// Opens what a filter may set in one call, under the pointer that stands for it. A call to the plugin begins
    /// unless that is nil, and ``closeEdit(_:)`` must follow.
    func openEdit(_ notification: Notification?) -> (number: UInt64, pointer: OpaquePointer)? {
        guard change({ $0.enter() }) else { return nil }
        let edit = edits.open(notification)
        guard let bridge = number, let pointer = CallContext(bridge: bridge, number: edit).pointer else {
            _ = closeEdit(edit)
            return nil
        }
        return (edit, OpaquePointer(pointer))
    }

    /// The call has returned: what the filter set in it. Later edits are refused.
    func closeEdit(_ number: UInt64) -> FilterEdit {
        defer { change { $0.leave() } }
        return edits.close(number)
    }

    /// `carillon_filter_call.set`.
    static func set(_ edit: OpaquePointer?, _ field: carillon_str, _ value: carillon_bytes) -> carillon_status {
        guard let context = CallContext(edit.map { UnsafeMutableRawPointer($0) }),
            let bridge = OpenedBridges.bridge(context.bridge)
        else { return .CARILLON_INVALID }
        guard let status = bridge.edits.set(field, value, in: context.number) else {
            bridge.note("The filter sets something after its call has returned", \.malformedEdits)
            return .CARILLON_INVALID
        }
        if status == .CARILLON_INVALID { bridge.note("The filter sets what cannot be taken", \.malformedEdits) }
        return status
    }
}
