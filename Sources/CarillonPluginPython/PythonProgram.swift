/// `carillon-plugin-python`: the program in Python that plugins in Python run in. It is a folder, which `python3` runs
/// in place of `carillon-plugin-host`.
package enum PythonProgram {
    package static let name = "carillon-plugin-python"

    /// Where the system has its interpreter.
    package static let interpreters = ["/usr/bin/python3", "/usr/local/bin/python3", "/bin/python3"]

    /// Where it belongs to an executable in `folder`: as it was built, or where it was installed.
    package static func places(beside folder: String) -> [String] {
        let prefix = folder.split(separator: "/").dropLast().map { "/\($0)" }.joined()
        return [
            "\(folder)/\(name)", "\(folder)/carillon_CarillonPluginPython.resources/\(name)",
            "\(prefix)/libexec/carillon/\(name)", "\(prefix)/lib/carillon/\(name)",
        ]
    }
}
