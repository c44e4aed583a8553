/// Why a stream is reset or a connection left (RFC 9113, section 7).
enum HTTP2ErrorCode: UInt32 {
    case noError
    case protocolError
    case internalError
    case flowControlError
    case settingsTimeout
    case streamClosed
    case frameSizeError
    case refusedStream
    case cancel
    case compressionError
    case connectError
    case enhanceYourCalm
    case inadequateSecurity
    case http11Required
}
