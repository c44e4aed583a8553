import Console
import Foundation
import HTTPLanes
import Logging
import NIOCore
import NIOPosix
import RouterConfiguration
import Units
import YAMLReading

/// Asks the router that runs on this configuration by its API.
package struct APIClient {
    /// What it answered.
    package struct Answer: Sendable, Hashable {
        package var status: Int
        /// JSON, with a line break behind it.
        package var body: String
    }

    /// How the router is reached.
    private enum Way {
        /// By the socket for commands.
        case socket(String)
        case network(base: String, token: String, tokenFile: String)
    }

    private let way: Way

    /// The router's socket for commands is the way; where that is not there, or not for this user, the API.
    ///
    /// Throws an unreachable ``OperationFailure`` if there is neither, and `Diagnostics` where the API's token cannot be read.
    package init(configuration: Configuration) throws {
        let socket = configuration.adminSocketPath
        if access(socket, W_OK) == 0 {
            way = .socket(socket)
            return
        }
        let isForbidden = errno == EACCES
        guard let api = configuration.api else {
            throw OperationFailure.unreachable(
                isForbidden
                    ? "this user may not ask the router: run this as root or as the user that runs Carillon"
                    : "no router runs on this configuration: there is no \(socket)"
            )
        }
        guard api.console.port > 0 else {
            throw OperationFailure.unreachable("api.listen: port 0 does not say where the router listens")
        }
        way = .network(
            base: "http://\(Self.host(of: api.console.host)):\(api.console.port)",
            token: try APITokenFile(path: api.tokenFile).text(),
            tokenFile: api.tokenFile
        )
    }

    /// The answer to a request for `target`, such as `/v1/reload`; a refusal is an answer too.
    ///
    /// Throws an unreachable ``OperationFailure`` if none comes, and errors of the system.
    package func ask(_ method: String, _ target: String, body: Data? = nil) async throws -> Answer {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let answer: Result<Answer, any Error>
        do {
            answer = .success(try await ask(method, target, body, on: group))
        } catch {
            answer = .failure(error)
        }
        try await group.shutdownGracefully()
        return try answer.get()
    }

    /// The content of the answer to a GET of `target`. Throws an ``OperationFailure``.
    package func read<Content: OperatorAnswer>(_ target: String) async throws -> Content {
        try await answer("GET", target)
    }

    /// The content of the answer to a POST of `target`, or to a request by another method. Throws an
    /// ``OperationFailure``.
    package func change<Content: OperatorAnswer>(_ target: String, by method: String = "POST") async throws -> Content {
        try await answer(method, target)
    }

    private func ask(
        _ method: String,
        _ target: String,
        _ body: Data?,
        on group: any EventLoopGroup
    ) async throws -> Answer {
        switch way {
        case .socket(let socket):
            do {
                guard let path = SocketPath(socket) else { throw IOError(errnoCode: errno, reason: "open") }
                defer { withExtendedLifetime(path) {} }
                return try await SocketRequest(socket: path.text, method: method, target: target, body: body)
                    .answer(on: group)
            } catch {
                throw OperationFailure.unreachable(
                    "no answer from \(socket): does the router run, and with this configuration?"
                )
            }
        case .network(let base, let token, let tokenFile):
            return try await ask(method, target, body, base, token, tokenFile, on: group)
        }
    }

    private func ask(
        _ method: String,
        _ target: String,
        _ body: Data?,
        _ base: String,
        _ token: String,
        _ tokenFile: String,
        on group: any EventLoopGroup
    ) async throws -> Answer {
        let log = Logger(label: "carillon.api-client") { _ in SwiftLogNoOpLogHandler() }
        let lanes = try HTTPLanes(configuration: HTTPLanes.Configuration(), group: group, logger: log)
        let request = HTTPRequest(
            method: method,
            url: base + target,
            headers: [HTTPField("authorization", "Bearer " + token), HTTPField("content-type", "application/json")],
            body: body.map { Array($0) } ?? [],
            timeout: .minutes(1),
            maxResponseBytes: .mebibytes(1)
        )
        let result = await withCheckedContinuation { continuation in
            lanes.send(request) { continuation.resume(returning: $0) }
        }
        await lanes.shutdown()
        switch result {
        case .success(let response) where response.status == 401:
            throw OperationFailure.unreachable(
                "the router at \(base) does not take the token in \(tokenFile): where that was changed while the router "
                    + "runs, send it SIGHUP (systemctl reload), which has it read the file anew"
            )
        case .success(let response):
            return Answer(status: Int(response.status), body: String(decoding: response.body, as: UTF8.self))
        case .failure(let failure):
            throw OperationFailure.unreachable(
                "no answer from \(base) (\(failure.reason.rawValue)): does the router run, and with this configuration?"
            )
        }
    }

    /// Where one connects to reach who listens there: any address stands for this machine.
    static func host(of listening: String) -> String {
        switch listening {
        case "0.0.0.0": "127.0.0.1"
        case "::": "[::1]"
        case let address where address.contains(":"): "[\(address)]"
        default: listening
        }
    }
}
