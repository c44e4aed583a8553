/// RFC 9113, section 6.
enum FrameType: UInt8 {
    case data
    case headers
    case priority
    case rstStream
    case settings
    case pushPromise
    case ping
    case goAway
    case windowUpdate
    case continuation
}
