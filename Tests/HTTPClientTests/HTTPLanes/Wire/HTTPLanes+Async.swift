import Logging
import NIOPosix

@testable import HTTPClient

extension HTTPLanes {
    static func forTests(
        _ configuration: Configuration = Configuration(),
        names: NameLookups = NameLookups()
    ) throws -> HTTPLanes {
        var logger = Logger(label: "lanes")
        logger.logLevel = .critical
        return try HTTPLanes(
            configuration: configuration,
            group: .singletonMultiThreadedEventLoopGroup,
            logger: logger,
            names: names
        )
    }

    /// Sends a request and waits. A second completion would crash the continuation.
    func answer(to request: HTTPRequest) async -> Result<HTTPResponse, HTTPError> {
        await withCheckedContinuation { continuation in
            send(request) { continuation.resume(returning: $0) }
        }
    }

    func failure(of request: HTTPRequest) async -> HTTPError? {
        if case .failure(let failure) = await answer(to: request) { failure } else { nil }
    }
}
