import CarillonABI
import Core
import HTTPClient
import Logging
import PluginProtocol
import Push
import Synchronization

/// The router's side of one instance: its state, its requests and streams, and the calls that wait for the plugin.
final class PluginBridge: Sendable {
    typealias Completion = @Sendable (Outcome) -> Void
    typealias State = InstanceState<Completion>

    /// The state under the lock.
    private struct Shell {
        var state = State()
        /// Waits for the drain to settle.
        var waiter: CheckedContinuation<Bool, Never>?
    }

    let log: Logger
    /// The clock for deadlines.
    let now: @Sendable () -> Deadline
    /// The instance's stored values.
    let values: InstanceValues
    /// The URL for requests from clients; nil: the instance gets none.
    let inboundURL: String?
    private let shell: Mutex<Shell>
    let requests: PluginRequests
    /// Its open streams.
    let streams: PluginStreams

    /// A bridge for an instance of `owner`.
    init(_ owner: StateOwner, _ settings: InstanceSettings, inboundURL: String? = nil, log: Logger) {
        self.log = log
        self.inboundURL = inboundURL
        now = settings.now
        values = settings.states.open(owner)
        shell = Mutex(Shell())
        requests = PluginRequests(settings.sender.share())
        streams = PluginStreams(settings.streams)
    }

    // MARK: Closing

    /// Rejects all later calls, because the plugin created no instance.
    func close() {
        streams.endAll()
        shell.withLock { $0.state.close() }
        tidyUp()
        end()
    }

    /// Releases the stored values after the plugin's instance is gone.
    func end() { values.close() }

    /// Waits until the drain has settled. True if the instance may be destroyed.
    func settled() async -> Bool {
        await withCheckedContinuation { continuation in
            shell.withLock { $0.waiter = continuation }
            settle()
        }
    }

    private func settle() {
        let settled = shell.withLock { shell -> (State.DrainState, CheckedContinuation<Bool, Never>)? in
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

    /// Stops sending requests, and ends waiting calls.
    private func tidyUp() {
        requests.close()
        let (commands, inbound) = shell.withLock { $0.state.abandonCalls() }
        for waiter in commands { waiter(.draining) }
        for waiter in inbound { waiter(.draining) }
    }

    // MARK: State

    var statistics: TransportStatistics { shell.withLock { $0.state.statistics } }

    /// Changes the state, and resumes a waiting drain if that settles it.
    func change<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        let (result, isAwaited) = shell.withLock { (body(&$0.state), $0.waiter != nil) }
        if isAwaited { settle() }
        return result
    }

    /// Counts an error of the plugin, and logs it at doubling intervals.
    func note(_ mistake: Logger.Message, _ counter: WritableKeyPath<TransportStatistics, UInt64>) {
        let count = change { state in
            state.statistics[keyPath: counter] += 1
            return state.statistics[keyPath: counter]
        }
        warn(mistake, times: count)
    }

    /// Counts a request that cannot be sent; `flaw` contains no value from the plugin.
    func noteRequest(_ flaw: String) {
        log.debug("The plugin made an invalid request", metadata: ["flaw": "\(flaw)"])
        note("The plugin made invalid requests", \.malformedRequests)
    }

    /// Counts a misuse of a stream; `flaw` contains no value from the plugin.
    func noteStream(_ flaw: String) {
        log.debug("The plugin misused a stream", metadata: ["flaw": "\(flaw)"])
        note("The plugin misused streams", \.malformedStreams)
    }

    /// Logs the first, second, fourth, eighth … time.
    func warn(_ mistake: Logger.Message, times count: UInt64) {
        guard count.nonzeroBitCount == 1 else { return }
        log.warning(mistake, metadata: ["times": "\(count)"])
    }
}

// MARK: Reports and requests from the process

extension PluginBridge: InstanceHost {
    private static var lineLimit: Int { 1024 }

    func logLine(_ level: carillon_log_level, _ line: carillon_str) {
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
            "The plugin logged a message",
            metadata: ["line": "\(PluginText.line(line, limit: Self.lineLimit))"]
        )
    }

    func note(_ rule: ViolationMessage.Rule, _ text: String) {
        switch rule {
        case .request: noteRequest(PluginText.printable(text))
        case .edit: note("The filter set an invalid field or value", \.malformedEdits)
        case .stream: noteStream(PluginText.printable(text))
        }
    }

    func complete(_ ticket: UInt64, _ outcome: carillon_outcome) {
        let (outcome, isWellFormed) = Outcome.reading(outcome)
        let (end, mistakes) = change { state in (state.complete(ticket), state.statistics.unknownTickets) }
        switch end {
        case .ended(let completion):
            if !isWellFormed { note("The plugin gave an invalid outcome", \.malformedOutcomes) }
            completion(outcome)
            change { $0.leave() }
        case .late: break
        case .unknown: warn("The plugin ended a ticket twice, or one that is not its own", times: mistakes)
        }
    }

    func send(_ request: RequestMessage, done: @escaping @Sendable (WriteResponse) -> Void) -> carillon_status {
        requests.send(request, done, for: self)
    }

    func present(_ certificate: PresentMessage) -> (status: carillon_status, text: String) {
        requests.present(certificate)
    }

    func openStream(_ target: StreamOpenMessage, _ receiver: any StreamReceiver) -> StreamOpening {
        streams.open(target, receiver, for: self)
    }

    /// Apple, for example, refuses a second token on a connection, and the new instance does not know the first.
    func willRemake() { requests.forgetConnections() }

    func openState(_ listener: @escaping StateChange.Listener) -> [StateEntry] { values.copy(listener) }

    func store(_ entry: StateEntry, change: UInt64) { values.take(entry, change: change) }

    func refreshState() { values.refresh() }
}
