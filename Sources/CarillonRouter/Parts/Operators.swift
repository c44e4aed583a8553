import BrowserPages
import Console
import Delivery
import Listening
import Logging
import NIOCore
import Operations
import RouterConfiguration
import Synchronization
import Units

/// The API for operators and their tools, where the configuration has one, and the same for commands on this machine.
final class Operators: RouterPart {
    private struct State {
        var servers: [ConsoleServer] = []
        var address: SocketPath?
    }

    private let socket: String

    private let api: Configuration.API?
    private let authenticator: RouterAuthenticator
    private let listening: ListeningAPI
    private let console: RouterAPI
    private let stream: LiveStream
    /// One loop: swift-nio's generic decoders do not stand being needed on several for the first time.
    private let loop: any EventLoop
    private let counts: LimitCounts
    private let now: @Sendable () -> Timestamp
    private let logger: Logger
    private let state = Mutex(State())

    init(
        _ api: Configuration.API?,
        socket: String,
        authenticator: RouterAuthenticator,
        port: ListeningAPI,
        console: RouterAPI,
        stream: LiveStream,
        loop: any EventLoop,
        counts: ListenerCounts,
        now: @escaping @Sendable () -> Timestamp,
        logger: Logger
    ) {
        self.api = api
        self.socket = socket
        self.authenticator = authenticator
        listening = port
        self.console = console
        self.stream = stream
        self.loop = loop
        self.counts = counts.api ?? LimitCounts()
        self.now = now
        self.logger = logger
    }

    /// Where the API listens; nil before it does, and where there is none.
    var port: Int? { listening.port }

    func prepare() async throws {
        await openSocket()
        guard let api else { return }
        let server = ConsoleServer(
            configuration: api.console,
            authenticator: authenticator,
            endpoints: console.endpoints,
            pages: APIPages.all,
            receive: console.receive,
            loop: loop,
            now: now,
            counts: counts,
            logger: logger
        )
        do {
            let port = try await server.start()
            state.withLock { $0.servers.append(server) }
            listening.begin(at: port)
            logger.info("Taking operators' questions", metadata: ["address": "\(api.console.host):\(port)"])
        } catch {
            throw RouterError.cannotListen("api.listen", host: api.console.host, port: api.console.port, error)
        }
    }

    /// Without the socket everything works but commands that ask the router, which may have the API.
    private func openSocket() async {
        do {
            let address = try AdminFolder(around: socket).prepare()
            let server = ConsoleServer(
                socket: address.text,
                endpoints: console.endpoints,
                loop: loop,
                now: now,
                logger: logger
            )
            _ = try await server.start()
            state.withLock { state in
                state.servers.append(server)
                state.address = address
            }
        } catch {
            logger.warning(
                "Commands cannot ask this router, but by the API",
                metadata: ["socket": "\(socket)", "reason": "\(error)"]
            )
        }
    }

    func stop(_ time: StopBudget) async {
        // Nobody waits for whoever reads what happens.
        stream.close()
        for server in state.withLock(\.servers) { await server.stop(within: time.part(5)) }
        AdminFolder(around: socket).remove()
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

/// Where the API listens, once it does, and under which URLs clients reach it.
final class ListeningAPI: Sendable {
    private let api: Configuration.API?
    private let found = Mutex<Int?>(nil)

    init(_ api: Configuration.API?) {
        self.api = api
    }

    /// Nil before it listens, and where there is no API.
    var port: Int? { found.withLock(\.self) }

    func begin(at port: Int) { found.withLock { $0 = port } }

    /// Without a public URL those of this machine. A request's own word on its host counts for nothing: another site
    /// could pass a request on that was signed for it.
    var urls: [String] {
        guard let api, let port else { return [] }
        if let url = api.console.inbound?.publicURL { return [url] }
        return ["127.0.0.1", "localhost", "[::1]"].map { "http://\($0):\(port)" }
    }
}
