import Console
import Core
import Delivery
import Foundation
import Glibc
import Listeners
import Logging
import NIOCore
import Operations
import RouterConfiguration
import Synchronization

/// The API for operators and their tools, if the configuration has one, and the command socket for this machine.
final class Operators: RouterPart {
    private struct State {
        var servers: [HTTPServer] = []
        var address: SocketPath?
    }

    private let environment: RouterEnvironment
    private let authenticator: RouterAuthenticator
    let listening: ListeningAPI
    private let console: RouterAPI
    private let stream: LiveStream
    /// A single loop: swift-nio's generic decoders may crash if several loops use them for the first time together.
    private let loop: any EventLoop
    private let counts: ListenerCounts
    private let state = Mutex(State())

    init(
        _ plane: DataPlane,
        authenticator: RouterAuthenticator,
        port: ListeningAPI,
        console: RouterAPI
    ) {
        (environment, self.authenticator, listening) = (plane.environment, authenticator, port)
        (self.console, stream) = (console, plane.watchers.stream)
        (loop, counts) = (plane.outgoing.lowLoops.api, plane.sockets.counts)
    }

    private var socket: String { environment.configuration.store.adminSocketPath }
    private var logger: Logger { environment.logger }

    func prepare() async throws {
        await openSocket()
        guard let api = environment.configuration.api else { return }
        var configuration = api.console
        configuration.pages = APIPages.all
        configuration.counts = counts.api ?? LimitCounts()
        configuration.inbound?.receive = console.receive
        let server = HTTPServer(
            configuration: configuration,
            authenticator: authenticator.principal(of:for:),
            endpoints: console.endpoints,
            loop: loop,
            now: environment.now,
            logger: logger
        )
        do {
            let port = try await server.start()
            state.withLock { $0.servers.append(server) }
            listening.begin(at: port)
            logger.info("Listening for operators' requests", metadata: ["address": "\(api.console.host):\(port)"])
        } catch {
            throw RouterError.cannotListen("api.listen", host: api.console.host, port: api.console.port, error)
        }
    }

    /// Opens the command socket. Without it, only commands that ask the running router fail, and these may use the API.
    private func openSocket() async {
        do {
            let address = try AdminFolder(around: socket).prepare()
            var configuration = ConsoleConfiguration()
            configuration.socket = address.text
            let server = HTTPServer(
                configuration: configuration,
                authenticator: nil,
                endpoints: console.endpoints,
                loop: loop,
                now: environment.now,
                logger: logger
            )
            _ = try await server.start()
            state.withLock { state in
                state.servers.append(server)
                state.address = address
            }
        } catch {
            logger.warning(
                "The command socket could not be opened; commands can reach this router only through the API",
                metadata: ["socket": "\(socket)", "reason": "\(error)"]
            )
        }
    }

    func stop(_ time: StopBudget) async {
        // Ends streamed responses first, so that their readers do not delay the shutdown.
        stream.close()
        for server in state.withLock(\.servers) { await server.stop(within: time.part(5)) }
        AdminFolder(around: socket).remove()
    }
}

/// The API's token, which a reload replaces; nil if the configuration has no API.
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

/// The API's port, once it listens, and the URLs at which clients reach it.
final class ListeningAPI: Sendable {
    private let api: Configuration.API?
    private let found = Mutex<Int?>(nil)

    init(_ api: Configuration.API?) {
        self.api = api
    }

    /// Nil before it listens, and if there is no API.
    var port: Int? { found.withLock(\.self) }

    func begin(at port: Int) { found.withLock { $0 = port } }

    /// The public URL, or without one the URLs of this machine. A request's Host field is not trusted: another site
    /// could forward a request that was signed for it.
    var urls: [String] {
        guard let api, let port else { return [] }
        if let url = api.console.inbound?.publicURL { return [url] }
        return ["127.0.0.1", "localhost", "[::1]"].map { "http://\($0):\(port)" }
    }
}

/// The directory of the command socket. Only this user and root may enter it, so that no other user can connect, even
/// while the socket is being made.
struct AdminFolder {
    struct SocketFolderError: Error, CustomStringConvertible {
        let description: String
    }

    private let socket: String
    private let path: String

    init(around socket: String) {
        self.socket = socket
        path = URL(fileURLWithPath: socket).deletingLastPathComponent().path
    }

    /// Makes the directory, or checks its owner and mode. Returns the path to listen on.
    func prepare() throws(SocketFolderError) -> SocketPath {
        try makeFolder()
        guard let address = SocketPath(socket) else { throw failure }
        return address
    }

    private func makeFolder() throws(SocketFolderError) {
        if mkdir(path, 0o700) == 0 { return }
        guard errno == EEXIST else { throw failure }
        var status = stat()
        guard lstat(path, &status) == 0 else { throw failure }
        guard status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid() else {
            throw SocketFolderError(description: "\(path) is no folder of this user's: remove it")
        }
        guard chmod(path, 0o700) == 0 else { throw failure }
    }

    func remove() {
        unlink(socket)
        rmdir(path)
    }

    private var failure: SocketFolderError {
        SocketFolderError(description: "\(path): \(String(cString: strerror(errno)))")
    }
}
