import Core
import Foundation
import Logging
import NIOCore
import NIOPosix
import RouterConfiguration

@testable import Cluster

/// A real nats-server on this machine, with JetStream, in a temporary folder.
final class RealServer: Sendable {
    private static let program = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: ".build/venv/bin/nats-server")

    private let folder: URL
    private let extra: String
    // Only one test uses a server, and never from two tasks at the same time.
    private nonisolated(unsafe) var process: Process?
    private(set) nonisolated(unsafe) var port = 0
    /// The port of its HTTP monitoring.
    private(set) nonisolated(unsafe) var monitoringPort = 0

    /// `extra` contains additional lines of its configuration.
    init(_ extra: String = "") throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "nats-\(UUID().uuidString)")
        self.extra = extra
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try start()
    }

    deinit {
        kill()
        try? FileManager.default.removeItem(at: folder)
    }

    /// Starts the server; a restart uses the same port.
    func start() throws {
        let configuration = folder.appending(path: "nats.conf")
        let text = """
            listen: "127.0.0.1:\(port == 0 ? -1 : port)"
            http: "127.0.0.1:\(monitoringPort == 0 ? -1 : monitoringPort)"
            ports_file_dir: "\(folder.path)"
            jetstream: { store_dir: "\(folder.path)/store", sync_interval: always }
            \(extra)
            """
        try Data(text.utf8).write(to: configuration)
        let process = Process()
        process.executableURL = Self.program
        process.arguments = ["-c", configuration.path, "-l", folder.appending(path: "log").path]
        try process.run()
        self.process = process
        struct Ports: Decodable {
            let nats: [String]
            let monitoring: [String]
        }
        let file = folder.appending(path: "nats-server_\(process.processIdentifier).ports")
        for _ in 0..<4_000 {
            if let data = try? Data(contentsOf: file), let ports = try? JSONDecoder().decode(Ports.self, from: data),
                let found = ports.nats.first.flatMap({ URLComponents(string: $0)?.port }),
                let monitoring = ports.monitoring.first.flatMap({ URLComponents(string: $0)?.port })
            {
                (port, monitoringPort) = (found, monitoring)
                return
            }
            usleep(5_000)
        }
        struct NotStarted: Error { let log: String }
        throw NotStarted(log: (try? String(contentsOf: folder.appending(path: "log"), encoding: .utf8)) ?? "")
    }

    /// Ends the server without a shutdown.
    func kill() {
        guard let process else { return }
        Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        self.process = nil
    }

    var address: NATSServer {
        get throws {
            guard let server = NATSServer("nats://127.0.0.1:\(port)") else { throw NATSError.disconnected }
            return server
        }
    }

    /// Returns a connected client.
    func client(_ change: (inout NATSSettings) -> Void = { _ in }) async throws -> NATSClient {
        var settings = NATSSettings(servers: [try address], name: "test")
        change(&settings)
        return try await Self.client(settings)
    }

    static func client(_ settings: NATSSettings) async throws -> NATSClient {
        var random = SystemRandomNumberGenerator()
        let (states, told) = AsyncStream.makeStream(of: Bool.self)
        let client = try NATSClient(
            settings,
            loop: MultiThreadedEventLoopGroup.singleton.next(),
            random: &random,
            log: Logger(label: "nats") { _ in SwiftLogNoOpLogHandler() }
        ) { event in
            if case .connected = event { told.yield(true) } else { told.yield(false) }
        }
        client.start()
        for await isConnected in states {
            guard isConnected else { throw NATSError.disconnected }
            break
        }
        return client
    }
}

/// Waits up to 20 s until `condition` holds; returns whether it does.
func eventually(_ condition: () async throws -> Bool) async rethrows -> Bool {
    for _ in 0..<4_000 {
        if try await condition() { return true }
        try? await Task.sleep(for: .milliseconds(5))
    }
    return try await condition()
}
