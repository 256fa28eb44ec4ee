package conformance.flink.guards;

import org.apache.flink.shaded.asm9.org.objectweb.asm.ClassReader;
import org.apache.flink.shaded.asm9.org.objectweb.asm.ClassVisitor;
import org.apache.flink.shaded.asm9.org.objectweb.asm.ClassWriter;
import org.apache.flink.shaded.asm9.org.objectweb.asm.Label;
import org.apache.flink.shaded.asm9.org.objectweb.asm.MethodVisitor;
import org.apache.flink.shaded.asm9.org.objectweb.asm.Opcodes;
import org.apache.flink.shaded.asm9.org.objectweb.asm.Type;

/**
 * Removes a guard from the bytes of a class: at one place of a method where a field or a method with a given name is
 * read or called. ASM is the copy that Flink ships. The instructions keep their types, so the stack frames stay valid.
 */
final class Removal {

    /** What happens at the place. */
    enum Change {
        /** The field or the method, which is a boolean, returns true from now on. */
        TRUE,
        /** It returns false. */
        FALSE,
        /** The method, which returns nothing, is not called. */
        LEFT_OUT,
        /** The next conditional jump is always taken. */
        JUMPS,
        /** The next conditional jump is never taken. */
        STAYS;

        boolean isAnswer() {
            return this == TRUE || this == FALSE;
        }

        boolean decidesJump() {
            return this == JUMPS || this == STAYS;
        }
    }

    private final String name;
    private final int place;
    private final Change change;
    private int passed; // places so far

    /** {@code place}: which one, counted from 1, of the places with this name that can be changed in this way. */
    Removal(String name, int place, Change change) {
        this.name = name;
        this.place = place;
        this.change = change;
    }

    /** The bytes of the class without the guard. */
    byte[] from(byte[] original, String method) {
        ClassReader reader = new ClassReader(original);
        ClassWriter writer = new ClassWriter(ClassWriter.COMPUTE_MAXS);
        reader.accept(
                new ClassVisitor(Opcodes.ASM9, writer) {
                    @Override
                    public MethodVisitor visitMethod(
                            int access, String found, String descriptor, String signature, String[] exceptions) {
                        MethodVisitor next = super.visitMethod(access, found, descriptor, signature, exceptions);
                        return found.equals(method) ? new Body(next) : next;
                    }
                },
                0);
        if (passed < place) {
            throw new IllegalArgumentException(
                    "there are " + passed + " places with \"" + name + "\" in " + method + ", so not the one wanted");
        }
        return writer.toByteArray();
    }

    private boolean isThePlace() {
        passed++;
        return passed == place;
    }

    private final class Body extends MethodVisitor {

        private boolean jumpIsNext;

        private Body(MethodVisitor next) {
            super(Opcodes.ASM9, next);
        }

        @Override
        public void visitFieldInsn(int opcode, String owner, String found, String descriptor) {
            boolean isRead = opcode == Opcodes.GETFIELD && found.equals(name);
            if (isRead && change.isAnswer() && descriptor.equals("Z") && isThePlace()) {
                super.visitInsn(Opcodes.POP); // the object whose field it is
                answer();
            } else {
                super.visitFieldInsn(opcode, owner, found, descriptor);
                jumpIsNext |= isRead && change.decidesJump();
            }
        }

        @Override
        public void visitMethodInsn(int opcode, String owner, String found, String descriptor, boolean isInterface) {
            boolean isCall = found.equals(name);
            Type answered = Type.getReturnType(descriptor);
            boolean fits =
                    change.isAnswer() ? answered == Type.BOOLEAN_TYPE
                            : change == Change.LEFT_OUT && answered == Type.VOID_TYPE;
            if (!isCall || !fits || !isThePlace()) {
                super.visitMethodInsn(opcode, owner, found, descriptor, isInterface);
                jumpIsNext |= isCall && change.decidesJump();
                return;
            }
            Type[] arguments = Type.getArgumentTypes(descriptor);
            for (int index = arguments.length - 1; index >= 0; index--) {
                super.visitInsn(arguments[index].getSize() == 2 ? Opcodes.POP2 : Opcodes.POP);
            }
            if (opcode != Opcodes.INVOKESTATIC) {
                super.visitInsn(Opcodes.POP); // the object whose method it is
            }
            if (change.isAnswer()) {
                answer();
            }
        }

        @Override
        public void visitJumpInsn(int opcode, Label target) {
            boolean isConditional = opcode != Opcodes.GOTO && opcode != Opcodes.JSR;
            if (!isConditional || !jumpIsNext) {
                super.visitJumpInsn(opcode, target);
                return;
            }
            jumpIsNext = false;
            if (!isThePlace()) {
                super.visitJumpInsn(opcode, target);
                return;
            }
            boolean comparesTwo = opcode >= Opcodes.IF_ICMPEQ && opcode <= Opcodes.IF_ACMPNE;
            super.visitInsn(comparesTwo ? Opcodes.POP2 : Opcodes.POP);
            // Still a conditional jump, so that no instruction becomes unreachable and loses its stack frame.
            super.visitInsn(Opcodes.ICONST_0);
            super.visitJumpInsn(change == Change.JUMPS ? Opcodes.IFEQ : Opcodes.IFNE, target);
        }

        private void answer() {
            super.visitInsn(change == Change.TRUE ? Opcodes.ICONST_1 : Opcodes.ICONST_0);
        }
    }
}
