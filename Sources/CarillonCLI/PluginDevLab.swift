import ArgumentParser
import Foundation
import Operations

/// A lab of its own for `carillon plugin dev`: the program `carillon-lab`, which is a package of its own.
struct PluginDevLab {
    private static let program = "carillon-lab"
    private static let patience: TimeInterval = 20

    let lab: RehearsalLab
    /// Where `carillon-lab misbehave` finds it.
    let folder: URL
    private let process: Process
    /// The lab ends with it, however this program ends.
    private let input: Pipe

    /// The program's path, beside this program or on the PATH; nil: it is not installed.
    static var path: String? {
        let executable = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        let folders = [URL(fileURLWithPath: executable).deletingLastPathComponent().path]
        let named = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        return (folders + named).map { "\($0)/\(program)" }.first(where: FileManager.default.isExecutableFile(atPath:))
    }

    /// Starts the program at `path` and waits until it listens.
    static func start(_ path: String) async throws -> PluginDevLab {
        let folder = FileManager.default.temporaryDirectory.appending(path: "carillon-dev-lab-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: folder,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        let (process, input) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = ["serve", "--folder", folder.path, "--throw-away", "--quiet"]
        process.standardInput = input
        process.standardOutput = FileHandle.nullDevice
        let addresses = folder.appending(path: "lab.json")
        let end = Date.now + patience
        do {
            try process.run()
            while true {
                if let data = FileManager.default.contents(atPath: addresses.path) {
                    let url = try JSONDecoder().decode(Addresses.self, from: data).other
                    return PluginDevLab(lab: try RehearsalLab(url: url), folder: folder, process: process, input: input)
                }
                guard process.isRunning, Date.now < end else {
                    throw ValidationError("\(path) does not start; --no-lab plays a push service instead")
                }
                try await Task.sleep(for: .milliseconds(20))
            }
        } catch {
            if process.isRunning { process.terminate() }
            try? FileManager.default.removeItem(at: folder)
            throw error
        }
    }

    func close() async {
        await lab.close()
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    /// What it writes into `lab.json`.
    private struct Addresses: Decodable {
        let other: String

        private enum CodingKeys: String, CodingKey { case other = "other_url" }
    }
}
