import CommandTestSupport
import Foundation
import NIOCore
import NIOPosix

/// nghttpd, the nghttp2 project's HTTP/2 server. It runs as an echo server on a free port of the loopback.
///
/// `@unchecked Sendable`: the process is started once and ended once.
final class Nghttpd: @unchecked Sendable {
    let port: Int
    private let process = Process()

    /// Returns a port that the system does not assign automatically to others before nghttpd has it.
    private static func freePort() async throws -> Int {
        let bootstrap = ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
        while true {
            let port = Int.random(in: 10_000..<32_000)
            guard let probe = try? await bootstrap.bind(host: "127.0.0.1", port: port).get() else { continue }
            try await probe.close()
            return port
        }
    }

    init(address: String = "127.0.0.1", port wanted: Int? = nil, _ options: String...) async throws {
        let certificate = try TestCertificate.shared.get()
        if let wanted {
            port = wanted
        } else {
            port = try await Self.freePort()
        }
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments =
            ["nghttpd", "--echo-upload", "-a", address] + options
            + [String(port), certificate.keyFile, certificate.certificateFile]
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        // It does not report when it listens.
        let bootstrap = ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
        while process.isRunning {
            guard let channel = try? await bootstrap.connect(host: address, port: port).get() else { continue }
            try await channel.close()
            return
        }
        throw CocoaError(.executableLoad)
    }

    func stop() {
        kill(process.processIdentifier, SIGKILL)
    }

    deinit {
        kill(process.processIdentifier, SIGKILL)
    }
}
