/// RFC 9113, section 6.5.2.
enum SettingID: UInt16 {
    case headerTableSize = 1
    case enablePush
    case maxConcurrentStreams
    case initialWindowSize
    case maxFrameSize
    case maxHeaderListSize
}
