import HTTPListening
import HTTPTypes
import Listening
import NIOCore
import Units

/// Answers requests that came another way than by HTTP as a server would: with the same checks and limits.
package struct DirectAPI: Sendable {
    private let handler: ConsoleHandler

    /// - Parameters:
    ///   - authenticator: Tells who asks.
    ///   - endpoints: All that there is.
    ///   - now: The wall clock.
    package init(
        authenticator: any APIAuthenticator,
        endpoints: [APIEndpoint],
        now: @escaping @Sendable () -> Timestamp
    ) {
        handler = ConsoleHandler(
            configuration: ConsoleConfiguration(),
            authenticator: authenticator,
            routes: RouteTable(endpoints),
            counts: LimitCounts(),
            now: now
        )
    }

    /// Status and body; an answer without an end has none.
    package func answer(_ head: APIRequestHead) async -> (status: Int, body: String) {
        let answer = await handler.answer(head)
        guard case .whole(let body) = answer.body else { return (answer.status.code, "") }
        return (answer.status.code, String(buffer: body))
    }
}
