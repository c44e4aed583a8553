import CarillonLab
import Foundation
import HTTPClient
import Logging
import NIOPosix
import Testing

/// The lab and the connections to it.
final class Stage: Sendable {
    /// The shared stage of a suite's rows, if there is one.
    @TaskLocal static var shared: Stage?

    let lab: Lab
    let lanes: HTTPLanes

    private init(_ lab: Lab, by tunnel: Tunnel?) throws {
        self.lab = lab
        lanes = try HTTPLanes(
            configuration: HTTPLanes.Configuration(
                caFile: lab.addresses.caFile,
                allowPrivate: ["127.0.0.0/8", "::1/128"],
                proxy: tunnel?.url
            ),
            group: MultiThreadedEventLoopGroup.singleton,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    /// Runs `body` with a stage on which the lab runs only `service`.
    static func with(_ service: some PushService, _ body: (Stage) async throws -> Void) async throws {
        var configuration = LabConfiguration()
        configuration.fcm = nil
        configuration.unifiedPush = nil
        configuration.webPush = nil
        configuration.ntfy = nil
        configuration.gotify = nil
        configuration.names = service.names
        service.configure(&configuration)
        let lab = try await Lab.start(configuration)
        var tunnel: Tunnel?
        let result: Result<Void, any Error>
        do {
            if let port = service.entrance(lab).flatMap({ URL(string: $0)?.port }) {
                tunnel = try await Tunnel(to: port)
            }
            let stage = try Stage(lab, by: tunnel)
            do { result = .success(try await body(stage)) } catch { result = .failure(error) }
            await stage.lanes.shutdown()
        } catch {
            result = .failure(error)
        }
        await tunnel?.close()
        await lab.shutdown()
        try result.get()
    }
}

/// Makes the rows of a suite share a stage. Rows that break connections, or leave requests without a response, need
/// their own.
struct StageTrait: SuiteTrait, TestScoping {
    let service: any PushService

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await Stage.with(service) { stage in
            try await Stage.$shared.withValue(stage, operation: function)
        }
    }
}

extension Trait where Self == StageTrait {
    static func stage(_ service: some PushService) -> Self { StageTrait(service: service) }
}
