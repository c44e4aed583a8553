import Console
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

    /// Why there is no answer, in words for an operator.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    private let base: String
    private let token: String
    private let tokenFile: String

    /// Throws a `Failure` where the configuration has no API, and `Diagnostics` where the token cannot be read.
    package init(configuration: Configuration) throws {
        guard let api = configuration.api else {
            throw Failure(description: "the configuration has no api block, so a running router cannot be asked")
        }
        guard api.console.port > 0 else {
            throw Failure(description: "api.listen: port 0 does not say where the router listens")
        }
        base = "http://\(Self.host(of: api.console.host)):\(api.console.port)"
        tokenFile = api.tokenFile
        token = try APITokenFile(path: tokenFile).text()
    }

    /// The answer to a request for `target`, such as `/api/reload`; a refusal is an answer too.
    ///
    /// Throws a `Failure` when none comes, and errors of the system.
    package func ask(_ method: String, _ target: String) async throws -> Answer {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let log = Logger(label: "carillon.api-client") { _ in SwiftLogNoOpLogHandler() }
        let lanes = try HTTPLanes(configuration: HTTPLanes.Configuration(), group: group, logger: log)
        let result = await withCheckedContinuation { continuation in
            lanes.send(request(method, target)) { continuation.resume(returning: $0) }
        }
        await lanes.shutdown()
        try await group.shutdownGracefully()
        switch result {
        case .success(let response) where response.status == 401:
            throw Failure(
                description:
                    "the router at \(base) does not take the token in \(tokenFile): where that was changed while the router "
                    + "runs, send it SIGHUP (systemctl reload), which has it read the file anew"
            )
        case .success(let response):
            return Answer(status: Int(response.status), body: String(decoding: response.body, as: UTF8.self))
        case .failure(let failure):
            throw Failure(
                description:
                    "no answer from \(base) (\(failure.reason.rawValue)): does the router run, and with this configuration?"
            )
        }
    }

    private func request(_ method: String, _ target: String) -> HTTPRequest {
        HTTPRequest(
            method: method,
            url: base + target,
            headers: [HTTPField("authorization", "Bearer " + token)],
            timeout: .minutes(1),
            maxResponseBytes: .mebibytes(1)
        )
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
