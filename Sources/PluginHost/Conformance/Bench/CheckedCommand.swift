import CarillonABI

/// An operator's command as a plugin names it by: never freed, so that an answer which comes too late finds it.
final class CheckedCommand: Sendable {
    private let host: CheckHost
    private let number: Int

    init(_ number: Int, on host: CheckHost) {
        self.number = number
        self.host = host
    }

    /// What to give to the plugin. To be called once.
    func context() -> UnsafeMutableRawPointer { Unmanaged.passRetained(self).toOpaque() }

    /// Nil for NULL.
    static func at(_ context: UnsafeMutableRawPointer?) -> CheckedCommand? {
        context.map { Unmanaged<CheckedCommand>.fromOpaque($0).takeUnretainedValue() }
    }

    /// The plugin answered.
    func answer(_ status: carillon_status, _ text: carillon_str) {
        let isText = PluginText.string(text, limit: .max) != nil
        host.note { $0.answer(number, isOK: status == .CARILLON_OK, isText: isText, isEmpty: text.len == 0) }
    }
}
