import Foundation
import Logging
import PluginHost
import Storage

/// The program that loads plugins in their processes.
package enum PluginProgram {
    package static let name = "carillon-plugin-host"

    /// Its possible paths: next to the executable in a build, or in the installation.
    package static let places = folders.flatMap(places)

    /// Its possible paths for an executable in `folder`.
    package static func places(beside folder: String) -> [String] {
        let prefix = URL(fileURLWithPath: folder).deletingLastPathComponent().path
        return ["\(folder)/\(name)", "\(prefix)/libexec/carillon/\(name)", "\(prefix)/lib/carillon/\(name)"]
    }

    /// The programs that run plugins in Python, as found on this machine.
    package static var python: PythonPrograms {
        let interpreter = PythonProgram.interpreters.first { FileManager.default.isExecutableFile(atPath: $0) }
        let program = folders.flatMap(PythonProgram.places).first { FileManager.default.fileExists(atPath: $0) }
        return PythonPrograms(interpreter: interpreter ?? "", program: program ?? "")
    }

    /// The folder of the executable. If another program has loaded us, such as a test runner, also that of our library.
    private static var folders: [String] {
        let executable = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return [executable, library].compactMap(\.self)
            .map { URL(fileURLWithPath: $0).deletingLastPathComponent().path }
            .reduce(into: []) { folders, folder in if !folders.contains(folder) { folders.append(folder) } }
    }

    /// The file that this code was mapped from.
    private static var library: String? {
        let own = UInt(bitPattern: #dsohandle)
        let mappings = FileManager.default.contents(atPath: "/proc/self/maps") ?? Data()
        for line in String(decoding: mappings, as: UTF8.self).split(separator: "\n") {
            let range = line.prefix { $0 != " " }.split(separator: "-").compactMap { UInt($0, radix: 16) }
            guard range.count == 2, range[0] <= own, own < range[1] else { continue }
            return line.firstIndex(of: "/").map { String(line[$0...]) }
        }
        return nil
    }
}

extension Configuration.Plugins {
    /// The folders to search, and the allowed libraries.
    package var search: PluginSearch { PluginSearch(folders: folders, pins: pins) }

    /// Loads the plugins into processes, which runs their code. A bad plugin is refused, and the rest are loaded.
    ///
    /// Throws an error if the program that runs them is missing.
    package func load(log: Logger) throws(Diagnostics) -> PluginHost {
        PluginHost(loading: search, isolation: try processes(), log: log)
    }

    /// Returns the settings of plugin processes. `places` are the possible paths of their program, unless the
    /// configuration names it.
    ///
    /// Throws an error if the program is missing. Without plugin folders it is not required.
    package func processes(places: [String] = PluginProgram.places) throws(Diagnostics) -> IsolationSettings {
        var settings = isolation
        let isExecutable = FileManager.default.isExecutableFile(atPath:)
        settings.python = try python()
        if !settings.program.isEmpty {
            guard isExecutable(settings.program) else {
                throw mistake(
                    "plugins.program: expected the program \(PluginProgram.name); \(settings.program) is not a program"
                )
            }
            return settings
        }
        let program = places.first(where: isExecutable)
        guard let program = program ?? (folders.isEmpty ? places.first : nil) else {
            throw mistake(
                "plugins.program: cannot find \(PluginProgram.name), which runs plugins; looked for "
                    + places.joined(separator: ", ") + ". Install it there, or set plugins.program"
            )
        }
        settings.program = program
        return settings
    }

    /// Finds the programs that run plugins in Python; a router without such plugins needs none.
    private func python() throws(Diagnostics) -> PythonPrograms {
        let isExecutable = FileManager.default.isExecutableFile(atPath:)
        let named = isolation.python.interpreter
        if !named.isEmpty, !isExecutable(named) {
            throw mistake(
                "plugins.python: expected an interpreter, such as /usr/bin/python3; \(named) is not a program"
            )
        }
        var python = PluginProgram.python
        if !named.isEmpty { python.interpreter = named }
        python.showsErrors = isolation.python.showsErrors
        return python
    }

    private func mistake(_ message: String) -> Diagnostics {
        Diagnostics([Diagnostic(file: place.file, line: place.line, column: place.column, message: message)])
    }
}
