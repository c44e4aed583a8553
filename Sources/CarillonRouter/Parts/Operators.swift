import Console
import Delivery
import Listening
import Logging
import NIOCore
import NIOPosix
import Operations
import RouterConfiguration
import Synchronization
import Units

/// The API for operators and their tools, where the configuration has one.
final class Operators: RouterPart {
    private struct State {
        var server: ConsoleServer?
        var port: Int?
    }

    private let api: Configuration.API?
    private let token: ActiveAPIToken
    private let console: RouterConsole
    private let group: MultiThreadedEventLoopGroup
    private let counts: LimitCounts
    private let now: @Sendable () -> Timestamp
    private let logger: Logger
    private let state = Mutex(State())

    init(
        _ api: Configuration.API?,
        token: ActiveAPIToken,
        console: RouterConsole,
        group: MultiThreadedEventLoopGroup,
        counts: ListenerCounts,
        now: @escaping @Sendable () -> Timestamp,
        logger: Logger
    ) {
        self.api = api
        self.token = token
        self.console = console
        self.group = group
        self.counts = counts.api ?? LimitCounts()
        self.now = now
        self.logger = logger
    }

    /// Where the API listens; nil before it does, and where there is none.
    var port: Int? { state.withLock { $0.port } }

    func prepare() async throws {
        guard let api, let first = token.value else { return }
        let server = ConsoleServer(
            configuration: api.console,
            token: { [token] in token.value ?? first },
            backend: console,
            // One loop: swift-nio's generic decoders do not stand being needed on several for the first time.
            loop: group.next(),
            now: now,
            counts: counts,
            logger: logger
        )
        do {
            let port = try await server.start()
            state.withLock { $0 = State(server: server, port: port) }
            logger.info("Taking operators' questions", metadata: ["address": "\(api.console.host):\(port)"])
        } catch {
            throw RouterError.cannotListen("api.listen", host: api.console.host, port: api.console.port, error)
        }
    }

    func stop(_ time: StopBudget) async {
        await state.withLock { $0.server }?.stop(within: time.part(5))
    }
}

/// The API's token, which a reload replaces; nil where the configuration has no API.
final class ActiveAPIToken: Sendable {
    private let token: Mutex<APIToken?>

    init(_ token: APIToken?) {
        self.token = Mutex(token)
    }

    var value: APIToken? { token.withLock { $0 } }

    func replace(by new: APIToken) {
        token.withLock { $0 = new }
    }
}
