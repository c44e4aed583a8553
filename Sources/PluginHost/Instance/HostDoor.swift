import CarillonABI
import HTTPLanes
import Logging
import Notifications
import Synchronization

/// What one instance's plugin sees of the host: the other end of its `carillon_host`.
///
/// It is never freed. A plugin that calls after its instance was destroyed breaks the rules; it then finds a closed door
/// instead of freed memory, at the price of a few hundred bytes for every reload.
final class HostDoor: Sendable {
    typealias Completion = @Sendable (Outcome) -> Void
    typealias State = InstanceState<Completion>

    let log: Logger
    let now: @Sendable () -> Int64
    let shell: Mutex<Shell>

    /// Keeps a door and the struct that leads to it.
    ///
    /// Unchecked: the struct never changes once it is here.
    private struct Opened: @unchecked Sendable {
        let door: HostDoor
        let host: UnsafePointer<carillon_host>
    }

    private static let everOpened = Mutex<[Opened]>([])

    init(sender: any HTTPSender, log: Logger, now: @escaping @Sendable () -> Int64) {
        self.log = log
        self.now = now
        shell = Mutex(Shell(sender: sender))
    }

    /// The `carillon_host` for the plugin, valid for ever. To be called once.
    func openForPlugin() -> UnsafePointer<carillon_host> {
        let host = UnsafeMutablePointer<carillon_host>.allocate(capacity: 1)
        host.initialize(
            to: carillon_host(
                struct_size: UInt32(MemoryLayout<carillon_host>.size),
                abi_minor: UInt32(CARILLON_ABI_MINOR),
                host_data: Unmanaged.passUnretained(self).toOpaque(),
                log: hostLog,
                complete: hostComplete,
                http_request: hostHTTPRequest,
                query: hostQuery
            )
        )
        let opened = Opened(door: self, host: UnsafePointer(host))
        let number = Self.everOpened.withLock { doors in
            doors.append(opened)
            return doors.count - 1
        }
        shell.withLock { $0.number = number }
        return opened.host
    }

    /// The door of that number, as long as there was one.
    static func opened(_ number: Int) -> HostDoor? {
        everOpened.withLock { $0.indices.contains(number) ? $0[number].door : nil }
    }

    var statistics: TransportStatistics { shell.withLock { $0.state.statistics } }

    /// Changes the state, and lets the waiting drain go on when that settles it.
    func change<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        changeShell { body(&$0.state) }
    }

    /// The same with all that the lock holds.
    func changeShell<Result: Sendable>(_ body: (inout Shell) -> Result) -> Result {
        let (result, isAwaited) = shell.withLock { (body(&$0), $0.waiter != nil) }
        if isAwaited { settle() }
        return result
    }

    /// Who sends a request of the word `connection` that begins now, and over which connections; nil when none may begin.
    func beginRequest(
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

    /// New connections of the word `connection` present `certificate` from now on; false when there are too many such words.
    func present(_ certificate: ClientCertificate, on connection: UnsafeBufferPointer<UInt8>) -> Bool {
        let (sender, retired) = shell.withLock { ($0.sender, $0.connections.present(certificate, on: connection)) }
        guard let retired else { return false }
        for scope in retired { sender?.retire(scope) }
        return true
    }

    /// Lets nothing through any more: there was never an instance behind it.
    func close() {
        Self.tidyUp(
            shell.withLock { shell in
                shell.state.close()
                return shell.shut()
            }
        )
    }

    /// Waits until the drain that began has settled: true when the instance may be destroyed.
    func settled() async -> Bool {
        await withCheckedContinuation { continuation in
            shell.withLock { $0.waiter = continuation }
            settle()
        }
    }

    /// Counts a plugin's mistake, and logs it, ever more rarely.
    func note(_ mistake: Logger.Message, _ counter: WritableKeyPath<TransportStatistics, UInt64>) {
        let count = change { state in
            state.statistics[keyPath: counter] += 1
            return state.statistics[keyPath: counter]
        }
        warn(mistake, times: count)
    }

    /// Logs the first, second, fourth, eighth … time.
    func warn(_ mistake: Logger.Message, times count: UInt64) {
        guard count.nonzeroBitCount == 1 else { return }
        log.warning(mistake, metadata: ["times": "\(count)"])
    }

    private func settle() {
        let settled = shell.withLock { shell -> (State.Settlement, CheckedContinuation<Bool, Never>, Shell.Rest)? in
            guard let waiter = shell.waiter, let settlement = shell.state.settle(now: now()) else { return nil }
            shell.waiter = nil
            return (settlement, waiter, shell.shut())
        }
        guard let (settlement, waiter, rest) = settled else { return }
        Self.tidyUp(rest)
        switch settlement {
        case .idle: waiter.resume(returning: true)
        case .stuck(let completions):
            for completion in completions { completion(Outcome(.retry, reason: "draining")) }
            waiter.resume(returning: false)
        }
    }
}
