package conformance.flink.overlay;

import org.apache.flink.shaded.asm9.org.objectweb.asm.ClassReader;
import org.apache.flink.shaded.asm9.org.objectweb.asm.ClassVisitor;
import org.apache.flink.shaded.asm9.org.objectweb.asm.ClassWriter;
import org.apache.flink.shaded.asm9.org.objectweb.asm.MethodVisitor;
import org.apache.flink.shaded.asm9.org.objectweb.asm.Opcodes;

/**
 * FLINK-40016: a buffer that a local channel has recovered is not persisted when it is taken. All of them are persisted
 * when the checkpoint starts. What comes from upstream is persisted when it is taken, as before.
 *
 * <p>One method wraps buffers of both kinds and persists them. It gets a twin that does not persist, and the place where
 * recovered buffers are taken calls that one.
 */
final class PersistedOnce {

    private static final String TAKES = "getNextRecoveredBuffer";
    private static final String WRAPS = "getBufferAndAvailability";
    private static final String PERSISTS = "maybePersist";
    private static final String TWIN = "wrapWithoutPersisting";
    /** Of the two calls where recovered buffers are taken, the first is for a priority event, which is from upstream. */
    private static final int CALL = 2;

    private final ClassWriter writer = new ClassWriter(ClassWriter.COMPUTE_MAXS);
    private int calls; // of the method that wraps, where recovered buffers are taken
    private int left; // calls that the twin leaves out

    private PersistedOnce() {}

    /** The bytes of the class with the change. */
    static byte[] in(byte[] original) {
        PersistedOnce made = new PersistedOnce();
        new ClassReader(original).accept(made.new Changed(), 0);
        new ClassReader(original).accept(made.new Twins(), 0);
        if (made.calls != CALL || made.left != 1) {
            throw new IllegalStateException("this release does not take recovered buffers as 2.3.0 does");
        }
        return made.writer.toByteArray();
    }

    /** The class as it is, but for the one call. */
    private final class Changed extends ClassVisitor {

        private Changed() {
            super(Opcodes.ASM9, writer);
        }

        @Override
        public MethodVisitor visitMethod(
                int access, String name, String descriptor, String signature, String[] exceptions) {
            MethodVisitor next = super.visitMethod(access, name, descriptor, signature, exceptions);
            return !name.equals(TAKES)
                    ? next
                    : new MethodVisitor(Opcodes.ASM9, next) {
                        @Override
                        public void visitMethodInsn(
                                int opcode, String owner, String called, String type, boolean isInterface) {
                            boolean isTheCall = called.equals(WRAPS) && ++calls == CALL;
                            super.visitMethodInsn(opcode, owner, isTheCall ? TWIN : called, type, isInterface);
                        }
                    };
        }
    }

    /** Adds the twin, and nothing else. */
    private final class Twins extends ClassVisitor {

        private Twins() {
            super(Opcodes.ASM9);
        }

        @Override
        public MethodVisitor visitMethod(
                int access, String name, String descriptor, String signature, String[] exceptions) {
            return !name.equals(WRAPS)
                    ? null
                    : new MethodVisitor(Opcodes.ASM9, writer.visitMethod(access, TWIN, descriptor, signature, exceptions)) {
                        @Override
                        public void visitMethodInsn(
                                int opcode, String owner, String called, String type, boolean isInterface) {
                            if (called.equals(PERSISTS)) {
                                left++;
                                super.visitInsn(Opcodes.POP2); // the persister and the buffer
                            } else {
                                super.visitMethodInsn(opcode, owner, called, type, isInterface);
                            }
                        }
                    };
        }
    }
}
