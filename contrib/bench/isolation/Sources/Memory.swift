import Glibc
import Logging
import PluginHost

/// The memory of a process that has loaded libraries and created no instance.
struct Memory {
    private let supervisor: ChildSupervisor
    private let plugins: [IsolatedPlugin]

    init(program: String, libraries: [String]) throws {
        supervisor = ChildSupervisor(settings: IsolationSettings(program: program), log: Logger(label: "bench"))
        plugins = try IsolatedPlugin.load(libraries.map { IsolatedLibrary(path: $0) }, into: supervisor)
            .map { try $0.get() }
    }

    /// Prints it in MiB. PSS counts pages that other processes map as well by their share.
    func run() {
        let lines = supervisor.report.process.map { Self.lines(of: "/proc/\($0)/smaps_rollup") } ?? []
        let sizes = ["Rss", "Pss", "Anonymous"].map { name in "\(name) \(Self.mebibytes(name, in: lines)) MiB" }
        print("\(plugins.count) plugins: \(sizes.joined(separator: ", "))")
        withExtendedLifetime(plugins) {}
    }

    private static func mebibytes(_ name: String, in lines: [Substring]) -> Double {
        let words = lines.first { $0.hasPrefix("\(name):") }?.split(separator: " ") ?? []
        return words.count > 1 ? ((Double(words[1]) ?? 0) / 1024 * 10).rounded() / 10 : 0
    }

    private static func lines(of path: String) -> [Substring] {
        guard let file = fopen(path, "r") else { return [] }
        defer { fclose(file) }
        var room = [UInt8](repeating: 0, count: 1 << 14)
        let count = fread(&room, 1, room.count, file)
        return String(decoding: room.prefix(count), as: UTF8.self).split(separator: "\n")
    }
}
