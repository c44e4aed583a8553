internal import CarillonABI

/// How much a line of the log matters.
public enum LogLevel: Sendable {
    case debug
    case info
    case warning
    case error

    var level: carillon_log_level {
        switch self {
        case .debug: .CARILLON_DEBUG
        case .info: .CARILLON_INFO
        case .warning: .CARILLON_WARNING
        case .error: .CARILLON_ERROR
        }
    }
}
